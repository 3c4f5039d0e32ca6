//! A limit on the connections of each address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the connections of each address, so that none can occupy all of them.
#[derive(Debug)]
pub struct Peers {
    most: usize,
    counts: Mutex<BTreeMap<IpAddr, usize>>,
}

/// One connection of an address, until it is dropped.
#[derive(Debug)]
pub struct Peer {
    peers: Arc<Peers>,
    addr: IpAddr,
}

impl Peers {
    /// Each address may have at most `most` connections.
    pub fn new(most: usize) -> Self {
        Peers {
            most,
            counts: Mutex::default(),
        }
    }

    /// Counts one more connection of `addr`; `None` if it has the most already. An address is an
    /// IPv4 address, or a /64 network of IPv6. O(log addresses).
    pub fn enter(self: &Arc<Self>, addr: IpAddr) -> Option<Peer> {
        let addr = whose(addr);
        let mut counts = self.counts();
        let count = counts.get(&addr).copied().unwrap_or(0);
        if count >= self.most {
            return None;
        }
        counts.insert(addr, count + 1);
        Some(Peer {
            peers: Arc::clone(self),
            addr,
        })
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<IpAddr, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let mut counts = self.peers.counts();
        if let Some(count) = counts.get_mut(&self.addr) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.addr);
            }
        }
    }
}

/// The owner of one IPv6 address has its whole /64 network.
fn whose(addr: IpAddr) -> IpAddr {
    match addr.to_canonical() {
        IpAddr::V6(addr) => {
            let network = addr.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        addr @ IpAddr::V4(_) => addr,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_and_gives_them_back() {
        let peers = Arc::new(Peers::new(2));
        let enter = |addr: &str| peers.enter(addr.parse().unwrap());
        let held = [
            enter("10.0.0.1").unwrap(),
            enter("::ffff:10.0.0.1").unwrap(),
        ];
        assert!(enter("10.0.0.1").is_none());
        let _other = enter("10.0.0.2").unwrap();
        drop(held);
        let _again = enter("10.0.0.1").unwrap();
        let _network = [
            enter("2001:db8::1").unwrap(),
            enter("2001:db8::2:1").unwrap(),
        ];
        assert!(enter("2001:db8::3").is_none());
        assert!(enter("2001:db8:0:1::3").is_some());
        assert_eq!(peers.counts().len(), 3);
    }
}
