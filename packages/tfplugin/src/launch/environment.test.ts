import { expect, it } from "vitest";
import { inheritedEnvironment, stackEnvironment } from "./environment.ts";

const OWN = {
  PATH: "/bin",
  HOME: "/root",
  AWS_SECRET_ACCESS_KEY: "of the server",
  https_proxy: "http://proxy:3128",
  SSL_CERT_FILE: "/ca.pem",
  TF_PLUGIN_MAGIC_COOKIE: "x",
  PLUGIN_CLIENT_CERT: "x",
  EMPTY: undefined,
};

it("a command passes its own environment on, without what is said between launcher and provider", () => {
  expect(inheritedEnvironment(OWN)).toEqual({
    PATH: "/bin",
    HOME: "/root",
    AWS_SECRET_ACCESS_KEY: "of the server",
    https_proxy: "http://proxy:3128",
    SSL_CERT_FILE: "/ca.pem",
  });
});

it("a server passes what the stack is given, and how to reach the network", () => {
  const variables = { AWS_REGION: "x", SSL_CERT_FILE: "/own.pem", PLUGIN_MIN_PORT: "1" };
  expect(stackEnvironment({ variables, own: OWN })).toEqual({
    PATH: "/bin",
    https_proxy: "http://proxy:3128",
    SSL_CERT_FILE: "/own.pem",
    AWS_REGION: "x",
  });
});
