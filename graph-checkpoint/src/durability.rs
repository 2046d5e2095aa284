//! The guarantee for committed steps.

/// The guarantee that a saver gives for a step when its commit returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// The step survives a crash of the program, of the system, and a loss of power. Commits that arrive at the same
    /// time share one sync. A separate thread waits for the disk; only if a sync takes less than about 200 µs does a
    /// run that commits alone sync on its own thread, because that is faster than a hand-off.
    #[default]
    Power,
    /// The step survives a crash of the program (`kill -9`). A crash of the system or a loss of power may lose the
    /// latest steps; the steps that remain are consistent.
    Process,
    /// The step is in memory. When a run ends, and when the saver is dropped, everything since the last save is saved
    /// at once, as durably as with [`Power`](Self::Power). A crash before that loses it. From the first step until that
    /// save, the saver holds the file's write lock: other programs read the last save, and wait to write.
    Exit,
}
