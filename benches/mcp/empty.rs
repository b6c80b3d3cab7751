//! A server of the Model Context Protocol that has nothing to offer: what any other is beside.

use rmcp::{ServerHandler, ServiceExt as _};

struct Empty;

impl ServerHandler for Empty {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Empty.serve((tokio::io::stdin(), tokio::io::stdout())).await?;
    server.waiting().await?;
    Ok(())
}
