import { hostname } from "node:os";
import { expect, it } from "vitest";
import { serverIdentity } from "./server-identity.ts";

it.each([
  "localhost",
  "::1",
  "/var/run/postgresql",
  "http://127.0.0.1:8500",
  "http://[::1]:8500",
  // Each network has its own server of these.
  "db",
  "10.0.0.5",
  "http://consul:8500",
  "http://192.168.1.2/state",
  "https://[fd00::1]/state",
  "https://minio.storage.svc.cluster.local/",
  "http://consul.service.consul:8500",
])("%s is a server of this machine's network", (address) => {
  expect(serverIdentity(address)).toBe(`${address} of ${hostname()}`);
});

it.each([
  "db.example.com",
  "203.0.113.7",
  "https://states.example.com/one?name=two",
  "https://[2001:db8::1]/state",
  "https://storage.googleapis.com/storage/v1/",
])("%s is the same server everywhere", (address) => {
  expect(serverIdentity(address)).toBe(address);
});
