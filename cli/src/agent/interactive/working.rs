//! The screen and the keys while the agent works.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use superstep_assistant::AssistantEvent;
use superstep_assistant::agents::AgentTool;
use superstep_assistant::inbox::InboxMessage;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::commands::Entered;
use super::commands::Work::Quit;
use super::composer::Typed;
use super::front::{Front, Gone, LOOK_EVERY};
use super::keys::{Action, Purpose};
use super::orders::own_commands;
use super::terminal::{Kind, Press};
use crate::agent::work::{Start, Work, WorkEnd};
use crate::failure::Failure;
use crate::page::{BAD, DIM};

/// The maximum number of events that are printed before the keys are looked at.
const MOST_EVENTS: usize = 200;

/// A run that works on the threads of the runtime.
struct Running {
    events: Receiver<AssistantEvent>,
    orders: UnboundedSender<Order>,
    end: JoinHandle<Result<WorkEnd, Failure>>,
    since: Instant,
    stops: u32,
}

impl Running {
    /// Gives the run an order. One that has ended takes none.
    fn order(&self, order: Order) {
        self.orders.send(order).ok();
    }
}

/// An order to a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Stop,
    Leave,
}

/// Forwards the events of a run, and carries out orders.
async fn forward(
    mut work: Work,
    mut orders: UnboundedReceiver<Order>,
    send: impl Fn(AssistantEvent) -> bool,
) -> Result<WorkEnd, Failure> {
    let mut stops = false;
    loop {
        tokio::select! {
            event = work.next() => match event {
                Some(event) => {
                    // A turn that had not begun is stopped with its first event.
                    stops = stops && !work.stop();
                    if !send(event) {
                        work.leave();
                    }
                }
                None => return work.end().await,
            },
            order = orders.recv() => match order {
                Some(Order::Stop) => stops = !work.stop(),
                Some(Order::Leave) | None => {
                    work.leave();
                    return work.end().await;
                }
            },
        }
    }
}

impl Front {
    /// Works on a session until the run ends. The events are printed, and the keys steer, queue and stop.
    pub(super) fn work(&mut self, start: Start) -> Result<WorkEnd, Gone> {
        if let Start::Ask(message) = &start
            && !message.is_empty()
        {
            self.view.typed(message);
        }
        let begun = self.runtime.block_on(self.bench.begin(&mut self.session, start))?;
        let work = match begun {
            Ok(work) => work,
            Err(end) => return Ok(end),
        };
        let (send, events) = channel();
        let (orders, given) = unbounded_channel();
        self.leaving.begin(orders.clone());
        let forwarding = forward(work, given, move |event| send.send(event).is_ok());
        let end = self.runtime.spawn(forwarding);
        let mut running = Running { events, orders, end, since: Instant::now(), stops: 0 };
        let shown = self.show(&mut running);
        if shown.is_err() {
            // The session can be resumed, if the run ends in order.
            running.order(Order::Leave);
        }
        let end = self.runtime.block_on(running.end);
        shown?;
        self.terminal.end_keys()?;
        let rest = self.view.end();
        self.terminal.print(&rest)?;
        end.map_err(Failure::of)?.map_err(Gone::from)
    }

    /// Shows a run until its events end.
    fn show(&mut self, running: &mut Running) -> Result<(), Gone> {
        self.terminal.begin_keys()?;
        loop {
            if !self.print_events(running)? {
                return Ok(());
            }
            if self.leaving.is_set() {
                self.leave(running);
            }
            let hint = match running.stops {
                0 => "Esc stops",
                1 => "stopping",
                _ => "leaving",
            };
            let line = self.view.status().line(running.since.elapsed(), hint, self.terminal.look());
            self.terminal.set_status(Some(&line))?;
            if let Some(press) = self.terminal.press(LOOK_EVERY)? {
                self.pressed(press, running)?;
            }
        }
    }

    /// Prints the events that have come. Returns `false` after the last one.
    fn print_events(&mut self, running: &mut Running) -> Result<bool, Gone> {
        let mut lines = Vec::new();
        let mut continues = true;
        for _ in 0..MOST_EVENTS {
            match running.events.try_recv() {
                Ok(event) => {
                    lines.extend(self.view.event(&event));
                    if matches!(&event, AssistantEvent::Result { tool, .. } if tool == AgentTool::NAME) {
                        self.background.look(&self.runtime, &self.bench, self.session.thread());
                    }
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    continues = false;
                    break;
                }
            }
        }
        self.terminal.print(&lines)?;
        Ok(continues)
    }

    fn pressed(&mut self, press: Press, running: &mut Running) -> Result<(), Gone> {
        match press {
            Press::Key(key) if self.keys.is(&key, Action::Stop) => self.stop(running),
            Press::Key(KeyEvent { code: KeyCode::Char('c'), modifiers, .. })
                if modifiers.contains(KeyModifiers::CONTROL) =>
            {
                self.interrupt(running);
            }
            Press::Key(KeyEvent { code: KeyCode::Char(letter), modifiers, .. })
                if !modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
            {
                self.compose(&letter.to_string(), running)?;
            }
            Press::Pasted(text) => self.compose(&text, running)?,
            Press::Resized => self.view.set_look(self.terminal.look()),
            Press::Line(typed) => self.typed(typed, running)?,
            Press::Key(_) => {}
        }
        Ok(())
    }

    /// Stops the turn; at the second time, the run is left.
    fn stop(&mut self, running: &mut Running) {
        running.stops += 1;
        let order = if running.stops == 1 { Order::Stop } else { Order::Leave };
        running.order(order);
    }

    /// Stops the turn as [`stop`](Self::stop). A second Ctrl-C soon after leaves, even if the turn has ended meanwhile.
    fn interrupt(&mut self, running: &mut Running) {
        self.interrupted = Some(Instant::now());
        self.stop(running);
    }

    fn leave(&mut self, running: &mut Running) {
        if running.stops < 2 {
            running.stops = 2;
            running.order(Order::Leave);
        }
    }

    /// Reads a message while the agent works. Its output waits meanwhile.
    fn compose(&mut self, begun: &str, running: &mut Running) -> Result<(), Gone> {
        self.terminal.end_keys()?;
        let mut typed = self.read("", Purpose::WhileWorking, begun)?;
        // News are shown when the work has ended.
        while let Typed::Woken(text) = typed {
            typed = self.read("", Purpose::WhileWorking, &text)?;
        }
        self.terminal.begin_keys()?;
        self.typed(typed, running)
    }

    fn typed(&mut self, typed: Typed, running: &mut Running) -> Result<(), Gone> {
        match typed {
            Typed::Message(text) => self.entered_meanwhile(&text, false, running),
            Typed::Queue(text) => self.entered_meanwhile(&text, true, running),
            Typed::Stop(text) => {
                self.prefill = text;
                self.stop(running);
                Ok(())
            }
            Typed::Interrupt => {
                self.interrupt(running);
                Ok(())
            }
            // The input may end before the work does.
            Typed::End if self.terminal.kind() == Kind::Lines => {
                self.is_over = true;
                Ok(())
            }
            Typed::End | Typed::Woken(_) => Ok(()),
        }
    }

    fn entered_meanwhile(&mut self, line: &str, queues: bool, running: &mut Running) -> Result<(), Gone> {
        let own = |name: &str| own_commands(&self.bench.places).contains_key(name);
        match Entered::read(line, own) {
            Entered::Nothing => {}
            Entered::Command(Quit, _) => {
                // The turn may end before it is left.
                self.is_over = true;
                self.leave(running);
            }
            Entered::Command(work, arguments) if work.is_harmless(&arguments) => {
                self.order(work, &arguments)?
            }
            Entered::Command(..) => {
                self.say(BAD, "This command is not available while the agent works. Esc stops the work.")?
            }
            Entered::Unknown(name) => self.say(BAD, &format!("There is no command /{name}."))?,
            Entered::Message(message) => {
                self.send(&message, queues)?;
                let when = if queues { "when it has answered" } else { "after the present calls" };
                self.say(DIM, &format!("  sent: the agent reads it {when}"))?;
            }
        }
        Ok(())
    }

    /// Sends a message to the session.
    pub(super) fn send(&mut self, message: &str, queues: bool) -> Result<(), Failure> {
        let entry = if queues { InboxMessage::queue(message) } else { InboxMessage::steer(message) };
        let sent = self.runtime.block_on(self.bench.inbox.send(self.session.thread().id(), entry));
        sent.map_err(Failure::of)?;
        self.view.typed_meanwhile(message);
        Ok(())
    }
}
