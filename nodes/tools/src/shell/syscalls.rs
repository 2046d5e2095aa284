//! System calls that a command may not make.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use super::confinement::{Network, NoSandbox};

/// Calls that administer the machine, or lead around the sandbox. A program that runs as root could make all of them.
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

/// Memory, semaphores and queues that programs share outside of the file system, where Landlock does not look: those of
/// System V, by numbers, and the queues of POSIX, by names.
const SHARED: [i64; 18] = [
    libc::SYS_mq_getsetattr,
    libc::SYS_mq_notify,
    libc::SYS_mq_open,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_unlink,
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_shmget,
];

/// Calls that change attributes of files wherever they are, which Landlock does not know. Programs take the error for a
/// file system without attributes, and copy files without them.
const ATTRIBUTES: [i64; 8] = [
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_setxattr,
    // `setxattrat` and `removexattrat`, on all processors.
    463,
    466,
];

/// Calls that programs can do without, as older kernels have none: those that watch files wherever they are, `openat2`,
/// whose mode is in memory that no filter reads, and `file_setattr`.
const MISSING: [i64; 7] = [
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_rm_watch,
    libc::SYS_openat2,
    // `file_setattr`, on all processors.
    469,
];

/// `fchmodat2`, on all processors.
const FCHMODAT2: i64 = 452;

/// For `setpriority` and `ioprio_set`: all processes of a user.
const PRIO_USER: u64 = libc::PRIO_USER as u64;
const IOPRIO_WHO_USER: u64 = 3;

/// The limit that is the mark of processes. Its type is not the same with every C library.
const REAL_TIME: u64 = libc::RLIMIT_RTTIME as u64;

/// Calls, each with the rules of which one must match; without rules all match.
type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// Forbids this thread and its child processes the system calls that no command of a model needs.
pub(super) fn forbid_syscalls(network: Network) -> Result<(), NoSandbox> {
    let failed =
        |error: &dyn std::fmt::Display| NoSandbox(format!("system calls cannot be filtered: {error}"));
    for (calls, errno) in [
        (forbidden(network).map_err(|error| failed(&error))?, libc::EPERM),
        (without_rules(&ATTRIBUTES), libc::EOPNOTSUPP),
        (missing(), libc::ENOSYS),
    ] {
        let program = program(calls, errno).map_err(|error| failed(&error))?;
        apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Makes a filter in which these calls fail with an error.
fn program(mut calls: Calls, errno: i32) -> Result<BpfProgram, BackendError> {
    if cfg!(target_arch = "x86_64") {
        // The same calls by the numbers of x32.
        const X32: i64 = 0x4000_0000;
        calls.extend(calls.clone().into_iter().map(|(call, rules)| (call | X32, rules)));
    }
    let denied = SeccompAction::Errno(u32::try_from(errno).expect("it is a small number"));
    let machine: TargetArch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(calls, SeccompAction::Allow, denied, machine)?.try_into()
}

fn without_rules(calls: &[i64]) -> Calls {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn missing() -> Calls {
    let mut calls = without_rules(&MISSING);
    #[cfg(target_arch = "x86_64")]
    calls.insert(libc::SYS_inotify_init, Vec::new());
    calls
}

fn forbidden(network: Network) -> Result<Calls, BackendError> {
    let mut calls = without_rules(&ADMINISTRATION);
    calls.extend(without_rules(&SHARED));
    if network == Network::Denied {
        calls.insert(libc::SYS_socket, Vec::new());
    }
    #[cfg(target_arch = "x86_64")]
    calls.extend(without_rules(&[libc::SYS_ioperm, libc::SYS_iopl]));
    calls.extend(on_others()?);
    calls.extend(privileged_files()?);
    Ok(calls)
}

/// Calls that set limits, priorities and processors, where they name a process: it may be another one, the program of
/// the agent among them. And those that would take off the mark by which processes are found.
fn on_others() -> Result<Calls, BackendError> {
    let is_set = || SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
    let names = |argument| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0);
    let equals =
        |argument, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value);
    let mut calls = Calls::from([
        (libc::SYS_prlimit64, vec![rule([names(0)?, is_set()?])?, rule([equals(1, REAL_TIME)?, is_set()?])?]),
        (libc::SYS_setrlimit, vec![rule([equals(0, REAL_TIME)?])?]),
        (libc::SYS_setpriority, vec![rule([names(1)?])?, rule([equals(0, PRIO_USER)?])?]),
        (libc::SYS_ioprio_set, vec![rule([names(1)?])?, rule([equals(0, IOPRIO_WHO_USER)?])?]),
    ]);
    for call in [
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
    ] {
        calls.insert(call, vec![rule([names(0)?])?]);
    }
    Ok(calls)
}

/// Calls that give a file the setuid or the setgid bit: as another user's, it would run with the rights of this one.
fn privileged_files() -> Result<Calls, BackendError> {
    let mut calls = Calls::from([
        (libc::SYS_fchmod, with_mode(1)?),
        (libc::SYS_fchmodat, with_mode(2)?),
        (FCHMODAT2, with_mode(2)?),
        (libc::SYS_mknodat, with_mode(2)?),
        (libc::SYS_openat, creating(2, 3)?),
    ]);
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        (libc::SYS_chmod, with_mode(1)?),
        (libc::SYS_creat, with_mode(1)?),
        (libc::SYS_mknod, with_mode(1)?),
        (libc::SYS_open, creating(1, 2)?),
    ]);
    Ok(calls)
}

/// Rules for a mode with one of the two bits.
fn with_mode(mode: u8) -> Result<Vec<SeccompRule>, BackendError> {
    [libc::S_ISUID, libc::S_ISGID].into_iter().map(|bit| rule([has(mode, bit.into())?])).collect()
}

/// Rules for such a mode where the flags say that a file is made; else the kernel does not read it.
fn creating(flags: u8, mode: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let making = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
    let pairs = making.into_iter().flat_map(|flag| [(flag, libc::S_ISUID), (flag, libc::S_ISGID)]);
    pairs.map(|(flag, bit)| rule([has(flags, flag as u64)?, has(mode, bit.into())?])).collect()
}

/// The condition that an argument has a bit.
fn has(argument: u8, bit: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bit), bit)
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into())
}

#[cfg(test)]
mod tests;
