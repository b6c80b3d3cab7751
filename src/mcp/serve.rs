//! The life of a server: from its start until its client is gone and nothing runs any more.

use std::io;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use tokio::runtime::Builder;

use super::end::End;
use super::inbox::MOST_CALLS;
use super::options::Options;
use super::server::Server;
use super::transport::Stdio;

/// What needs a thread beside the calls: a place that is being looked at.
const BESIDE_CALLS: usize = 2;

/// Serves the client at standard input and output until it is gone. Then every call is given up,
/// every command is ended, and nothing is left behind.
///
/// # Errors
///
/// If no thread can be started.
pub(crate) fn serve(options: Options) -> io::Result<()> {
    // One thread is enough for what only hands on, and is there sooner than several.
    let runtime = Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(MOST_CALLS + BESIDE_CALLS)
        .build()?;
    let disconnected = Arc::new(End::new());
    let server = Server::new(options, Arc::clone(&disconnected));
    let transport = Stdio::open(disconnected)?;
    runtime.block_on(async {
        match server.serve(transport).await {
            Ok(running) => {
                let why = running.waiting().await;
                tracing::info!(?why, "the client is gone");
            }
            Err(error) => tracing::info!(%error, "the client was gone before it began"),
        }
    });
    // Waits for the threads that calls are on.
    drop(runtime);
    Ok(())
}
