import { expect, it } from "vitest";
import { inheritedBy } from "./executor-child.ts";

it("a child trusts the authority that its worker trusts, and gets nothing else that is the worker's", () => {
  const worker = { PATH: "/bin", STACKWRIGHT_KEY: "secret", HOME: "/root" };
  expect(inheritedBy(worker)).toEqual({ PATH: "/bin" });
  expect(inheritedBy({ ...worker, SSL_CERT_FILE: "/own.pem" })).toEqual({
    PATH: "/bin",
    SSL_CERT_FILE: "/own.pem",
    NODE_EXTRA_CA_CERTS: "/own.pem",
  });
  const both = { SSL_CERT_FILE: "/own.pem", NODE_EXTRA_CA_CERTS: "/other.pem" };
  expect(inheritedBy({ ...worker, ...both })).toEqual({ PATH: "/bin", ...both });
});
