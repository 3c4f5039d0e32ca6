//! The context tools with one of one's own beside them, over standard input and output.
//!
//! `cargo run -p ctx-mcp --example own_tool -- FOLDER`

use std::sync::Arc;

use ctx_mcp::rmcp::model::{
    CallToolResult, ClientNotification, ClientRequest, ContentBlock, ErrorData, ServerConfig,
    ServerResult, Tool,
};
use ctx_mcp::rmcp::service::{NotificationContext, RequestContext, RoleServer, Service};
use ctx_mcp::rmcp::{ServiceExt as _, transport};
use ctx_mcp::{Options, Server};

/// Answers for its own tool, and hands on all else.
struct Beside<S>(S);

impl<S: Service<RoleServer>> Service<RoleServer> for Beside<S> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        match request {
            ClientRequest::CallToolRequest(call) if call.params.name == "motto" => {
                let motto = ContentBlock::text("Nothing is left out without a reason.");
                Ok(CallToolResult::success(vec![motto]).into())
            }
            ClientRequest::ListToolsRequest(_) => {
                let mut answer = self.0.handle_request(request, context).await?;
                if let ServerResult::ListToolsResult(list) = &mut answer {
                    let schema =
                        Arc::new([("type".to_owned(), "object".into())].into_iter().collect());
                    list.tools
                        .push(Tool::new("motto", "The motto of the project.", schema));
                }
                Ok(answer)
            }
            request => self.0.handle_request(request, context).await,
        }
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let server = Server::new(Options::new(root))?;
    let running = Beside(server.connection())
        .serve(transport::stdio())
        .await?;
    running.waiting().await?;
    Ok(())
}
