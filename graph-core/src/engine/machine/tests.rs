//! Given a state, when an event, then exactly these commands.
