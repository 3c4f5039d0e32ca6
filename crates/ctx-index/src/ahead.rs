//! Parallel work whose results are consumed in order: later items are made while earlier ones are
//! taken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ctx_retrieve::indexing_threads;

/// The most items that are being made or waiting ahead of the one taken.
const ITEMS: usize = 256;
/// The most bytes held at once, unless a single item is larger.
const BYTES: u64 = 8 << 20;

/// Calls `take` with the result of `make` for each of `items`, in order, while later items are made
/// on the [`indexing_threads`]. An item is started once there is room for its `bytes`, which stay
/// held until the [`Held`] passed to `make` is dropped. If `take` fails, items not yet started are
/// not made.
pub(crate) fn in_order<T: Sync, R: Send, E>(
    items: &[T],
    bytes: impl Fn(&T) -> u64,
    make: impl Fn(&T, Held) -> R + Sync,
    mut take: impl FnMut(&T, R) -> Result<(), E>,
) -> Result<(), E> {
    let room = Arc::new(Room::default());
    let is_over = AtomicBool::new(false);
    let (is_over, make) = (&is_over, &make);
    indexing_threads().in_place_scope_fifo(|scope| {
        let _over = Over(is_over);
        let mut ahead: VecDeque<(&T, Receiver<R>)> = VecDeque::new();
        let mut rest = items.iter().peekable();
        loop {
            while let Some(item) = rest.peek().filter(|_| ahead.len() < ITEMS)
                && let Some(held) = room.hold(bytes(item), ahead.is_empty())
            {
                let item: &T = item;
                rest.next();
                let (sender, receiver) = sync_channel(1);
                scope.spawn_fifo(move |_| {
                    if !is_over.load(Ordering::Relaxed) {
                        // The receiver is gone if the loop has ended.
                        let _ = sender.send(make(item, held));
                    }
                });
                ahead.push_back((item, receiver));
            }
            let Some((item, receiver)) = ahead.pop_front() else {
                return Ok(());
            };
            // A task that panicked sends nothing; the scope resumes the panic when it ends.
            let Ok(result) = receiver.recv() else {
                return Ok(());
            };
            take(item, result)?;
        }
    })
}

/// The budget of bytes held by items in flight.
#[derive(Debug, Default)]
struct Room {
    held: Mutex<u64>,
    freed: Condvar,
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds `bytes` if there is room or nothing else is held. Otherwise returns `None`, or blocks
    /// until there is room if `waits`.
    fn hold(self: &Arc<Self>, bytes: u64, waits: bool) -> Option<Held> {
        let mut held = self.lock();
        while *held > 0 && *held + bytes > BYTES {
            if !waits {
                return None;
            }
            let freed = self.freed.wait(held);
            held = freed.unwrap_or_else(PoisonError::into_inner);
        }
        *held += bytes;
        let room = Arc::clone(self);
        Some(Held { room, bytes })
    }
}

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    room: Arc<Room>,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.room.lock() -= self.bytes;
        self.room.freed.notify_one();
    }
}

/// Sets the flag when it goes out of scope, for whatever reason.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use ctx_testkit::pool::while_busy;

    use super::*;

    /// Makes the later of ten items sooner.
    fn slowly(item: u64) -> u64 {
        thread::sleep(Duration::from_micros(10 - item % 10));
        item
    }

    fn all(items: &[u64]) -> Vec<u64> {
        let mut taken = Vec::new();
        let result: Result<(), ()> = in_order(
            items,
            |_| 1,
            |item, _| slowly(*item),
            |item, result| {
                assert_eq!(*item, result);
                taken.push(result);
                Ok(())
            },
        );
        assert_eq!(result, Ok(()));
        taken
    }

    #[test]
    fn each_is_taken_once_and_in_its_order() {
        for count in [0, 1, 2, 1000] {
            let items: Vec<u64> = (0..count).collect();
            assert_eq!(all(&items), items);
        }
    }

    #[test]
    fn items_are_made_while_all_threads_that_build_are_busy() {
        let items: Vec<u64> = (0..1000).collect();
        let wanted = items.clone();
        assert_eq!(while_busy(move || all(&items)), Some(wanted));
    }

    #[test]
    fn after_a_failure_nothing_is_begun() {
        let items: Vec<u64> = (0..100_000).collect();
        let made = AtomicU64::new(0);
        let result = in_order(
            &items,
            |_| 1,
            |item, _| made.fetch_add(1, Ordering::Relaxed).max(*item),
            |item, _| if *item < 10 { Ok(()) } else { Err(*item) },
        );
        assert_eq!(result, Err(10));
        assert!(made.into_inner() <= 11 + ITEMS as u64);
    }

    #[test]
    fn no_more_bytes_are_held_than_there_is_room_for() {
        let items = [BYTES / 2 - 1, BYTES / 2, 1, 2, BYTES * 3, 7, BYTES];
        let all_held = AtomicU64::new(0);
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            // Holds are released later than the items are taken.
            scope.spawn(|| {
                for (bytes, held) in receiver {
                    thread::sleep(Duration::from_millis(2));
                    all_held.fetch_sub(bytes, Ordering::SeqCst);
                    drop::<Held>(held);
                }
            });
            let result = in_order(
                &items,
                |item| *item,
                |item, held| {
                    let all = all_held.fetch_add(*item, Ordering::SeqCst) + item;
                    assert!(all <= BYTES.max(*item), "{all} bytes");
                    held
                },
                |item, held| sender.send((*item, held)),
            );
            drop(sender);
            assert!(result.is_ok());
        });
    }

    #[test]
    fn a_panic_is_passed_on() {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            in_order(
                &[1, 2, 3],
                |_| 1,
                |item, _| assert_ne!(*item, 2),
                |_, ()| Ok::<(), ()>(()),
            )
        }));
        assert!(panicked.is_err());
    }
}
