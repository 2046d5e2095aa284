//! Addresses of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns `true` if an address belongs to the public internet. Addresses of this machine, of a local network, of a
/// provider's internal network, multicast and reserved addresses do not.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// IPv4: without the special addresses of the IANA registry. They are given as network and length of its prefix.
fn is_public_v4(address: Ipv4Addr) -> bool {
    const SPECIAL: [([u8; 4], u32); 17] = [
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        // Metadata of cloud providers are here.
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 31, 196, 0], 24),
        ([192, 52, 193, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        // Of many at once, reserved, and of all.
        ([224, 0, 0, 0], 3),
        // Metadata of Azure, at an address that is public by its number.
        ([168, 63, 129, 16], 32),
    ];
    let bits = address.to_bits();
    SPECIAL.iter().all(|(network, length)| (bits ^ u32::from_be_bytes(*network)) >> (32 - length) != 0)
}

/// IPv6: what is global unicast, without its special addresses. One that stands for an IPv4 address is what that is.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(address) = address.to_ipv4_mapped() {
        return is_public_v4(address);
    }
    let parts = address.segments();
    let last_v4 = Ipv4Addr::from_bits(u32::from(parts[6]) << 16 | u32::from(parts[7]));
    match parts {
        // Translated by the network to IPv4.
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => is_public_v4(last_v4),
        // Sent through IPv4, whose address is in it.
        [0x2002, ..] => false,
        // Protocols of the IETF, Teredo among them.
        [0x2001, second, ..] if second < 0x200 => false,
        // Documentation.
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_not_everybodys_are_known() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.1",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn addresses_of_the_public_internet_are_known() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "126.255.255.255",
            "128.0.0.1",
            "168.63.129.17",
            "169.253.0.1",
            "172.15.255.255",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
