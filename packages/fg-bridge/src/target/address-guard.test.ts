import { describe, expect, it } from "vitest";
import type { AuditEvent } from "../audit.ts";
import { AddressGuard } from "./address-guard.ts";

describe("the address guard", () => {
  it.each([
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.0.0.192",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "::ffff:0:10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::10.0.0.1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2001:0:1::1",
    "2001:db8::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "100::1",
    "3fff::1",
    "5f00::1",
    "not an address",
    "2130706433",
    "0x7f.1",
  ])("refuses %s", (address) => {
    expect(new AddressGuard().problem(address)).toBeDefined();
  });

  it.each([
    "1.1.1.1",
    "100.128.0.1",
    "172.32.0.1",
    "169.253.0.1",
    "2606:4700::1111",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
  ])("lets %s pass", (address) => {
    expect(new AddressGuard().problem(address)).toBeUndefined();
  });

  it("lets pass what is listed, and nothing beside it", () => {
    const guard = new AddressGuard({ allow: ["127.0.0.0/8", "10.1.0.0/16", "fd00::/8"] });
    for (const address of ["127.0.0.1", "10.1.255.1", "fd01::1", "::ffff:127.0.0.1"]) {
      expect(guard.problem(address)).toBeUndefined();
    }
    for (const address of ["10.2.0.1", "169.254.169.254", "::1", "fc00::1", "::ffff:10.2.0.1"]) {
      expect(guard.problem(address)).toBeDefined();
    }
  });

  it.each(["10.0.0.0", "10.0.0.0/33", "x/8", "10.0.0.0/8/8", "::/129", "10.0.0.0/-1", "10.0.0.0/"])(
    "does not take %s for a network",
    (network) => {
      expect(() => new AddressGuard({ allow: [network] })).toThrow(
        expect.objectContaining({ code: "FG_OPTIONS_INVALID" }),
      );
    },
  );

  it("refuses a host with one bad address among good ones, and says so", async () => {
    const audit: AuditEvent[] = [];
    const guard = new AddressGuard({
      resolver: async () => [
        { address: "1.1.1.1", family: 4 },
        { address: "::ffff:10.0.0.1", family: 6 },
      ],
      onAudit: (event) => audit.push(event),
    });
    await expect(guard.resolve("both.example", false)).rejects.toMatchObject({
      code: "FG_ADDRESS_REFUSED",
      outcome: "not-applied",
    });
    expect(audit).toMatchObject([{ kind: "address-refused", subject: "both.example" }]);
  });

  it("allows plain HTTP to this machine alone", async () => {
    const guard = new AddressGuard({ allow: ["127.0.0.0/8", "10.0.0.0/8"] });
    await expect(guard.resolve("127.0.0.1", true)).resolves.toHaveLength(1);
    await expect(guard.resolve("10.0.0.1", true)).rejects.toMatchObject({
      code: "FG_ADDRESS_REFUSED",
    });
    await expect(guard.resolve("10.0.0.1", false)).resolves.toHaveLength(1);
  });
});
