//! What a command may not ask of the kernel.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::confinement::{Network, NoSandbox};

/// What only who looks after a machine needs, and what would lead around the sandbox. A program that runs as root could
/// do all of this.
const ADMINISTRATION: [i64; 37] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_unshare,
];

/// The limit that is the mark of processes. Its type is not the same with every C library.
const REAL_TIME: u64 = libc::RLIMIT_RTTIME as u64;

/// Forbids this thread, and all that it starts, what no command of a model needs.
pub(super) fn forbid_syscalls(network: Network) -> Result<(), NoSandbox> {
    let failed =
        |error: &dyn std::fmt::Display| NoSandbox(format!("system calls cannot be filtered: {error}"));
    let program = program(network).map_err(|error| failed(&error))?;
    apply_filter(&program).map_err(|error| failed(&error))
}

fn program(network: Network) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ADMINISTRATION.iter().map(|call| (*call, Vec::new())).collect();
    if network == Network::Denied {
        rules.insert(libc::SYS_socket, Vec::new());
    }
    // The mark by which processes are found stays as it is.
    let of_mark =
        |argument| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, REAL_TIME);
    let something = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![of_mark(1)?, something])?]);
    rules.insert(libc::SYS_setrlimit, vec![SeccompRule::new(vec![of_mark(0)?])?]);
    #[cfg(target_arch = "x86_64")]
    {
        rules.extend([libc::SYS_ioperm, libc::SYS_iopl].map(|call| (call, Vec::new())));
        // The same calls by the numbers of x32.
        const X32: i64 = 0x4000_0000;
        rules.extend(rules.clone().into_iter().map(|(call, rule)| (call | X32, rule)));
    }
    let denied = SeccompAction::Errno(u32::try_from(libc::EPERM).expect("it is a small number"));
    let machine: TargetArch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, denied, machine)?.try_into()
}
