//! An endpoint in this process.

use std::net::SocketAddr;

use superstep::run::CancellationToken;
use superstep_restate::Endpoint;
use tokio::task::JoinHandle;

use crate::server::Server;

pub(crate) struct Here {
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
    ended: JoinHandle<()>,
}

impl Here {
    /// Starts an endpoint on a free port, and registers it.
    pub(crate) async fn start(server: &Server, endpoint: Endpoint) -> Self {
        Self::start_at(server, endpoint, ([127, 0, 0, 1], 0).into()).await
    }

    pub(crate) async fn start_at(server: &Server, endpoint: Endpoint, address: SocketAddr) -> Self {
        let listening = endpoint.listen(address).await.expect("a free port");
        let address = listening.address();
        let registered = listening.register(&server.admin(), None);
        let stop = CancellationToken::new();
        let ended = tokio::spawn(listening.until(stop.clone().cancelled_owned()));
        registered.await.expect("the server takes it");
        Self { address, stop, ended }
    }

    /// Stops it as a signal does.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.ended.await.expect("it ends");
    }
}
