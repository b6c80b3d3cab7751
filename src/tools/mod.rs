//! What an agent is given to work with files and commands: tools with schemas, and what they tell.

mod answer;
mod arguments;
mod command;
mod context;
mod failure;
mod hints;
mod key;
mod limits;
mod listing;
mod looks;
mod result;
mod run;
mod schema;
mod set;
mod shown;
mod standing;
mod texts;
mod tool;
mod values;
mod window;

pub use context::{CallContext, OutputListener};
pub use hints::Hints;
pub use limits::{Limits, LimitsBuilder};
pub use result::ToolResult;
pub use schema::ToolSpec;
pub use set::ToolSet;
pub use standing::StandingPolicy;
pub use tool::Tool;
