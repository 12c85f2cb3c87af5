import { expect, it } from "vitest";
import { addressGroup, addressNetwork } from "./address-group.ts";

it.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:0001:2::9", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["no address", "no address"],
])("counts %s with %s", (address, group) => {
  expect(addressGroup(address)).toBe(group);
});

it.each([
  ["192.0.2.1", "192.0.2.0/24"],
  ["::ffff:192.0.2.1", "192.0.2.0/24"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"],
  ["2001:DB8:0001:ff::9", "2001:db8:1::/48"],
  ["no address", "no address"],
])("takes %s for one of %s", (address, network) => {
  expect(addressNetwork(address)).toBe(network);
});
