//! When a committed step is safe.

/// The guarantee that a saver gives for a step when its commit returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// It survives a crash of the program, of the system, and a loss of power. One sync, shared by all who
    /// commit at that moment. A thread of its own waits for the disk; only where a sync takes less than some
    /// 200 µs does a run that commits alone do it in place, because that is shorter than telling another.
    #[default]
    Power,
    /// It survives a crash of the program (`kill -9`). A crash of the system or a loss of power may take the
    /// latest steps; what is left is whole.
    Process,
    /// It is in memory. Everything since the last save is saved at once, as durably as with
    /// [`Power`](Self::Power), when a run ends and when the saver is dropped; a crash before that loses it. From the first step until that save the saver holds
    /// the file's write lock: other programs can read the last save, and wait to write.
    Exit,
}
