//! The sandbox of Linux.

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::confinement::{Confinement, Network, NoSandbox};
use super::syscalls::forbid_syscalls;

/// Without this a command could empty files that it may only read: Linux 6.2.
const LEAST: ABI = ABI::V3;

/// The newest Landlock version whose features are used, where the kernel has them.
const MOST: ABI = ABI::V7;

/// The paths of the system that programs need to run. The paths in `/etc` are configuration, and none of them is
/// secret.
const SYSTEM: [&str; 37] = [
    "/bin",
    "/gnu/store",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/opt",
    "/proc",
    "/run/current-system",
    "/sbin",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/usr",
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/tls/certs",
    "/etc/resolv.conf",
    "/etc/ssl/certs",
    "/etc/timezone",
];

/// Devices that are written and read like files.
const DEVICES: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

impl Confinement {
    /// Confines this thread and all processes that it starts. This cannot be undone.
    ///
    /// # Errors
    ///
    /// Fails if the kernel does not support the confinement. The thread should then end.
    pub(super) fn confine_this_thread(&self) -> Result<(), NoSandbox> {
        self.confine_files().map_err(|error| NoSandbox(error.to_string()))?;
        give_up_rights().map_err(|error| NoSandbox(format!("rights cannot be given up: {error}")))?;
        forbid_syscalls(self.network)
    }

    fn confine_files(&self) -> Result<(), Box<dyn std::error::Error>> {
        // What is made like a device could be opened like one.
        let writing = AccessFs::from_all(MOST) & !(AccessFs::MakeBlock | AccessFs::MakeChar);
        let devices: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::WriteFile;
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(LEAST))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(MOST))?
            .scope(Scope::Signal)?;
        if self.network == Network::Denied {
            rules = rules.handle_access(AccessNet::from_all(MOST))?.scope(Scope::AbstractUnixSocket)?;
        }
        let status = rules
            .create()?
            .add_rules(path_beneath_rules(SYSTEM, AccessFs::from_read(MOST)))?
            .add_rules(path_beneath_rules(&self.readable, AccessFs::from_read(MOST)))?
            .add_rules(path_beneath_rules(&self.writable, writing))?
            .add_rules(path_beneath_rules(DEVICES, devices))?
            .restrict_self()?;
        match status.ruleset {
            RulesetStatus::NotEnforced => Err("the kernel does not enforce Landlock".into()),
            _ => Ok(()),
        }
    }
}

/// Drops the capabilities of root but for one, to use files of all users where files may be used. The others show the
/// memory of other processes, with their environment, and let the machine be changed.
fn give_up_rights() -> rustix::io::Result<()> {
    let CapabilitySets { effective, permitted, .. } = capabilities(None)?;
    let kept = CapabilitySet::DAC_OVERRIDE;
    let sets = CapabilitySets {
        effective: effective & kept,
        permitted: permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets)
}
