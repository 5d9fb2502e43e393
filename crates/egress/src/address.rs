//! Destination rules: the addresses that may be dialled at each trust level, checked on the resolved address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The trust level of a destination, by who configured it; decides which addresses it may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Set by the environment or the configuration file: any address.
    Operator,
    /// Set through the admin API: https to public addresses; others only as far as the operator allows.
    Admin { allow_private: bool, loopback_listener: bool },
}

/// Checks whether this address may be dialled; the error gives the reason.
pub(crate) fn permit(address: IpAddr, https: bool, trust: Trust) -> Result<(), &'static str> {
    let Trust::Admin { allow_private, loopback_listener } = trust else { return Ok(()) };
    match reach(address) {
        Reach::Public if https => Ok(()),
        Reach::Public => Err("a public address needs https"),
        Reach::Loopback if loopback_listener || allow_private => Ok(()),
        Reach::Loopback => Err("loopback addresses are not allowed as upstreams"),
        Reach::Private if allow_private => Ok(()),
        Reach::Private => Err("private, link-local and metadata addresses are not allowed as upstreams"),
        Reach::Unusable => Err("this address cannot be an upstream"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Public,
    Loopback,
    /// Not on the public Internet: private, link-local, shared, metadata.
    Private,
    /// Unspecified, multicast, broadcast, reserved, documentation.
    Unusable,
}

fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        [127, ..] => Reach::Loopback,
        [0, ..] | [224..=255, ..] | [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Reach::Unusable,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [169, 254, ..] | [100, 64..=127, ..] => {
            Reach::Private
        }
        [192, 0, 0, _] | [198, 18..=19, ..] | [192, 88, 99, _] => Reach::Private,
        // The metadata and health endpoint that Azure serves on a public address.
        [168, 63, 129, 16] => Reach::Private,
        _ => Reach::Public,
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    if address == Ipv6Addr::LOCALHOST {
        return Reach::Loopback;
    }
    if let Some(inner) = embedded_v4(address) {
        return reach_v4(inner);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0]
        | [0xff00..=0xffff, ..]
        | [0x2001, 0x0db8, ..]
        | [0x3fff, 0x0000..=0x0fff, ..]
        | [0x0100, 0, 0, 0, ..] => Reach::Unusable,
        [0xfc00..=0xfdff, ..] | [0xfe80..=0xfeff, ..] => Reach::Private,
        // Protocol assignments (Teredo, benchmarking, ORCHID) and the local-use NAT64 prefix.
        [0x2001, 0x0000..=0x01ff, ..] | [0x0064, 0xff9b, 0x0001, ..] => Reach::Private,
        [0x2000..=0x3fff, ..] => Reach::Public,
        _ => Reach::Unusable,
    }
}

/// The IPv4 address embedded in IPv6 forms that a host or a translator converts back to IPv4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(join(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(join(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(join(high, low)),
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => Some(join(high, low)),
        [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STRICT: Trust = Trust::Admin { allow_private: false, loopback_listener: false };
    const LOCAL: Trust = Trust::Admin { allow_private: false, loopback_listener: true };
    const OPEN: Trust = Trust::Admin { allow_private: true, loopback_listener: false };

    #[test]
    fn every_range_has_its_reach() {
        let table = [
            ("1.1.1.1", Reach::Public),
            ("172.15.255.255", Reach::Public),
            ("172.32.0.0", Reach::Public),
            ("100.63.255.255", Reach::Public),
            ("100.128.0.0", Reach::Public),
            ("2606:4700::1111", Reach::Public),
            ("127.0.0.1", Reach::Loopback),
            ("127.255.255.254", Reach::Loopback),
            ("::1", Reach::Loopback),
            ("::ffff:127.0.0.1", Reach::Loopback),
            ("::127.0.0.1", Reach::Loopback),
            ("10.0.0.1", Reach::Private),
            ("172.16.0.1", Reach::Private),
            ("172.31.255.255", Reach::Private),
            ("192.168.1.1", Reach::Private),
            ("169.254.169.254", Reach::Private),
            ("100.64.0.1", Reach::Private),
            ("100.100.100.200", Reach::Private),
            ("192.0.0.192", Reach::Private),
            ("168.63.129.16", Reach::Private),
            ("198.18.0.1", Reach::Private),
            ("fd00:ec2::254", Reach::Private),
            ("fc00::1", Reach::Private),
            ("fe80::1", Reach::Private),
            ("fec0::1", Reach::Private),
            ("::ffff:169.254.169.254", Reach::Private),
            ("64:ff9b::a9fe:a9fe", Reach::Private),
            ("64:ff9b:1::1", Reach::Private),
            ("2002:a9fe:a9fe::1", Reach::Private),
            ("2001:0:1234::1", Reach::Private),
            ("0.0.0.0", Reach::Unusable),
            ("0.1.2.3", Reach::Unusable),
            ("255.255.255.255", Reach::Unusable),
            ("240.0.0.1", Reach::Unusable),
            ("224.0.0.1", Reach::Unusable),
            ("192.0.2.1", Reach::Unusable),
            ("::", Reach::Unusable),
            ("ff02::1", Reach::Unusable),
            ("2001:db8::1", Reach::Unusable),
            ("::ffff:0.0.0.0", Reach::Unusable),
        ];
        for (text, expected) in table {
            assert_eq!(reach(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn rules_by_trust() {
        let table = [
            ("1.1.1.1", true, STRICT, true),
            ("1.1.1.1", false, STRICT, false),
            ("1.1.1.1", false, OPEN, false),
            ("127.0.0.1", false, STRICT, false),
            ("127.0.0.1", true, STRICT, false),
            ("127.0.0.1", false, LOCAL, true),
            ("127.0.0.1", false, OPEN, true),
            ("10.0.0.1", true, STRICT, false),
            ("10.0.0.1", true, LOCAL, false),
            ("10.0.0.1", false, OPEN, true),
            ("0.0.0.0", false, OPEN, false),
            ("0.0.0.0", false, Trust::Operator, true),
            ("169.254.169.254", false, Trust::Operator, true),
        ];
        for (text, https, trust, allowed) in table {
            assert_eq!(
                permit(text.parse().unwrap(), https, trust).is_ok(),
                allowed,
                "{text} https={https} {trust:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_wrapped_address_is_judged_as_the_address_inside(bits in any::<u32>()) {
            let inner = Ipv4Addr::from(bits);
            let expected = reach_v4(inner);
            prop_assert_eq!(reach_v6(inner.to_ipv6_mapped()), expected);
            let [a, b, c, d] = inner.octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            prop_assert_eq!(reach_v6(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low)), expected);
            prop_assert_eq!(reach_v6(Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1)), expected);
        }
    }
}
