//! Machines of a network: namespaces of this machine, each with an address, behind a bridge.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

/// A network, removed when it is dropped.
pub(crate) struct Network {
    /// The name of the bridge, with which those of the namespaces begin.
    bridge: String,
    /// The third number of the addresses.
    number: u8,
    machines: u8,
}

/// The cut connection of a machine.
#[derive(Clone, Copy)]
pub(crate) enum Cut {
    /// To everything.
    All,
    /// To the database.
    Database,
}

impl Network {
    /// Creates a network of so many machines; `None` where the user may not.
    #[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
    pub(crate) fn new(machines: u8) -> Option<Self> {
        static NUMBER: AtomicU8 = AtomicU8::new(0);
        let number = (std::process::id() as u8).wrapping_add(NUMBER.fetch_add(1, Ordering::Relaxed));
        let bridge = format!("ss{}n{number}", std::process::id());
        let mut network = Self { bridge, number, machines: 0 };
        match network.create(machines) {
            Ok(()) => Some(network),
            Err(error) => {
                eprintln!("not tested: no network namespace can be created: {error}");
                None
            }
        }
    }

    fn create(&mut self, machines: u8) -> Result<(), String> {
        let bridge = self.bridge.clone();
        ip(&format!("link add {bridge} type bridge"))?;
        ip(&format!("addr add {}/24 dev {bridge}", self.gateway()))?;
        ip(&format!("addr add {}/24 dev {bridge}", self.database()))?;
        ip(&format!("link set {bridge} up"))?;
        for machine in 0..machines {
            let (namespace, link) = (self.namespace(machine), self.link(machine));
            ip(&format!("netns add {namespace}"))?;
            self.machines += 1;
            ip(&format!("link add {link} type veth peer name eth0 netns {namespace}"))?;
            ip(&format!("link set {link} master {bridge} up"))?;
            ip(&format!("-n {namespace} addr add {}/24 dev eth0", self.address(machine)))?;
            ip(&format!("-n {namespace} link set eth0 up"))?;
        }
        Ok(())
    }

    /// Returns the namespace of a machine.
    pub(crate) fn namespace(&self, machine: u8) -> String {
        format!("{}-{machine}", self.bridge)
    }

    fn link(&self, machine: u8) -> String {
        format!("{}v{machine}", self.bridge)
    }

    /// Returns the address of a machine.
    pub(crate) fn address(&self, machine: u8) -> IpAddr {
        Ipv4Addr::new(10, 213, self.number, machine + 10).into()
    }

    /// Returns the address of this machine.
    fn gateway(&self) -> IpAddr {
        Ipv4Addr::new(10, 213, self.number, 1).into()
    }

    /// Returns the address of this machine for connections to the database.
    pub(crate) fn database(&self) -> IpAddr {
        Ipv4Addr::new(10, 213, self.number, 2).into()
    }

    /// Drops the packets of a machine.
    pub(crate) fn cut(&self, machine: u8, cut: Cut) {
        self.set(machine, cut, "down", "add");
    }

    /// Drops them no longer.
    pub(crate) fn mend(&self, machine: u8, cut: Cut) {
        self.set(machine, cut, "up", "del");
    }

    fn set(&self, machine: u8, cut: Cut, link: &str, route: &str) {
        let done = match cut {
            Cut::All => ip(&format!("link set {} {link}", self.link(machine))),
            Cut::Database => {
                let namespace = self.namespace(machine);
                ip(&format!("-n {namespace} route {route} blackhole {}", self.database()))
            }
        };
        done.expect("root may change it");
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for machine in 0..self.machines {
            ip(&format!("netns del {}", self.namespace(machine))).expect("it exists");
        }
        ip(&format!("link del {}", self.bridge)).ok();
    }
}

/// Runs `ip`.
fn ip(arguments: &str) -> Result<(), String> {
    let done = Command::new("ip").args(arguments.split(' ')).output();
    let done = done.map_err(|error| format!("ip cannot be started: {error}"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&done.stderr).trim())),
    }
}
