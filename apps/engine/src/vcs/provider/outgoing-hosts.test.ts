import { createServer } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { boundedFetch } from "./bounded-fetch.ts";
import { OutgoingHosts } from "./outgoing-hosts.ts";

const { signal } = new AbortController();

async function start() {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.end("answered");
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const call = async (hosts: OutgoingHosts, name: string) => {
    const address = `http://${name}:${port}/`;
    const lookup = hosts.lookup(new URL(address));
    return boundedFetch({ method: "GET", address, headers: {}, lookup, signal });
  };
  return { call, requests: () => requests };
}

it.each([
  "https://127.0.0.1/",
  "https://localhost/",
  "https://api.localhost/",
  "https://10.0.0.7/",
  "https://169.254.169.254/",
  "https://192.168.1.1/",
  "https://0.0.0.0/",
  "https://2130706433/",
  "https://[::1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://[fe80::1]/",
  "https://[fd00::1]/",
])("refuses %s, and says how it is allowed", (address) => {
  expect(() => new OutgoingHosts().require(new URL(address))).toThrow("--vcs-host");
  const { hostname } = new URL(address);
  const allowed = new OutgoingHosts([hostname.replace(/^\[|\]$/g, "")]);
  expect(() => allowed.require(new URL(address))).not.toThrow();
});

it("opens no connection to the private address of a name, whatever it was before", async () => {
  const { call, requests } = await start();
  const addresses = ["93.184.216.34", "127.0.0.1"];
  const hosts = new OutgoingHosts([], async () => [
    { address: addresses.shift() ?? "127.0.0.1", family: 4 },
  ]);
  const url = new URL("http://rebound.test/");
  expect(() => hosts.require(url)).not.toThrow();
  addresses.shift();
  await expect(call(hosts, "rebound.test")).rejects.toThrow("must not be reached");
  expect(requests()).toBe(0);
});

it("names the only addresses that a program may use, none of them private", async () => {
  const addresses = [
    { address: "93.184.216.34", family: 4 },
    { address: "2606:2800::1", family: 6 },
  ];
  const hosts = new OutgoingHosts(["git.internal"], async () => Promise.resolve(addresses));
  const pinned = async (address: string) => hosts.pinned(new URL(address));
  const expected = "git.test:443:93.184.216.34,[2606:2800::1]";
  expect(await pinned("https://git.test/infra.git")).toBe(expected);
  expect(await pinned("https://git.internal/infra.git")).toBeUndefined();
  addresses.push({ address: "10.0.0.7", family: 4 });
  await expect(pinned("https://git.test/infra.git")).rejects.toThrow("must not be reached");
  await expect(pinned("https://10.0.0.7/infra.git")).rejects.toThrow("--vcs-host");
});

it("reaches a private host that the operator names", async () => {
  const { call, requests } = await start();
  expect(await call(new OutgoingHosts(["127.0.0.1"]), "127.0.0.1")).toEqual({
    status: 200,
    text: "answered",
  });
  await expect(call(new OutgoingHosts(), "127.0.0.1")).rejects.toThrow("--vcs-host");
  expect(requests()).toBe(1);
});

it("refuses an answer that changes the protocol, instead of waiting", async () => {
  const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
  const server = createSocketServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => void socket.write(switching));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const address = `http://127.0.0.1:${port}/`;
  const call = boundedFetch({ method: "GET", address, headers: {}, lookup: undefined, signal });
  await expect(call).rejects.toThrow("changed the protocol");
});
