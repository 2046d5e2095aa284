//! A load balancer for TCP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// The time after which a machine that does not answer is left out.
const CONNECTS: Duration = Duration::from_millis(300);

/// The time for which the server of a lost connection does not notice that it is lost.
const UNNOTICED: Duration = Duration::from_secs(10);

/// Leads the connections of an address to others in turn. One at which nothing listens is left out.
pub(crate) struct Balancer {
    pub(crate) address: SocketAddr,
    lost: Arc<Notify>,
}

impl Balancer {
    /// Starts one for ports of this machine.
    pub(crate) async fn of_ports(port: u16, to: &[u16]) -> Self {
        Self::start(local(port), to.iter().copied().map(local).collect()).await
    }

    pub(crate) async fn start(address: SocketAddr, to: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind(address).await.expect("it is free");
        let address = listener.local_addr().expect("it is bound");
        let lost = Arc::new(Notify::new());
        let losing = Arc::clone(&lost);
        tokio::spawn(async move {
            for turn in 0.. {
                let Ok((mut from, _)) = listener.accept().await else { break };
                let (to, first, lost) = (to.clone(), turn % to.len(), Arc::clone(&losing));
                tokio::spawn(async move {
                    for address in to.iter().cycle().skip(first).take(to.len()) {
                        let Ok(Ok(mut to)) = timeout(CONNECTS, TcpStream::connect(address)).await else {
                            continue;
                        };
                        let _ = (from.set_nodelay(true), to.set_nodelay(true));
                        tokio::select! {
                            _ = copy_bidirectional(&mut from, &mut to) => {}
                            () = lost.notified() => {
                                drop(from);
                                sleep(UNNOTICED).await;
                            }
                        }
                        break;
                    }
                });
            }
        });
        Self { address, lost }
    }

    /// Loses all connections: the clients notice it at once, and the servers later.
    pub(crate) fn lose(&self) {
        self.lost.notify_waiters();
    }
}

/// Returns an address of this machine.
pub(crate) fn local(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}
