import { expect, it } from "vitest";
import { attachTerraformProvider, parseReattachProviders } from "./reattach.ts";

const ENTRY = {
  Protocol: "grpc",
  ProtocolVersion: 6,
  Pid: 12,
  Test: true,
  Addr: { Network: "unix", String: "/tmp/x" },
};

it("reads where providers listen", () => {
  const text = JSON.stringify({
    "hashicorp/random": ENTRY,
    "example.com/acme/toy": {
      ...ENTRY,
      ProtocolVersion: undefined,
      Addr: { Network: "tcp", String: "127.0.0.1:99" },
    },
  });
  expect([...parseReattachProviders(text)]).toEqual([
    [
      "registry.terraform.io/hashicorp/random",
      { protocol: 6, address: { socketPath: "/tmp/x" }, pid: 12 },
    ],
    ["example.com/acme/toy", { protocol: 5, address: { host: "127.0.0.1", port: 99 }, pid: 12 }],
  ]);
  expect(parseReattachProviders(" ").size).toBe(0);
});

it.each([
  "{",
  "[]",
  '{"a/b/c/d": {}}',
  '{"random": 1}',
  JSON.stringify({ random: { ...ENTRY, Protocol: "netrpc" } }),
  JSON.stringify({ random: { ...ENTRY, ProtocolVersion: 4 } }),
  JSON.stringify({ random: { ...ENTRY, Addr: { Network: "udp", String: "x" } } }),
  JSON.stringify({ random: { ...ENTRY, Addr: null } }),
  JSON.stringify({ random: ENTRY, "hashicorp/random": ENTRY }),
])("refuses %s", (text) => {
  expect(() => parseReattachProviders(text)).toThrow(
    expect.objectContaining({ code: "TFPLUGIN_REATTACH_INVALID" }),
  );
});

it("says so where no provider listens", async () => {
  const target = {
    protocol: 5,
    address: { socketPath: "/does/not/exist" },
    pid: undefined,
  } as const;
  await expect(attachTerraformProvider({ target, name: "toy" })).rejects.toMatchObject({
    code: "TFPLUGIN_CONNECT_FAILED",
  });
});
