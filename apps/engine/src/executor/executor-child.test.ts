import { once } from "node:events";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { expect, it, onTestFinished } from "vitest";
import { testJob } from "../testing/test-job.ts";
import { ExecutorChild, inheritedBy } from "./executor-child.ts";
import { writeFrame } from "./frames.ts";

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

it.each(["SSL_CERT_FILE", "SSL_CERT_DIR"])(
  "a child trusts the authority of %s beside others",
  { timeout: 180_000 },
  async (variable) => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "trusting-child-"));
    onTestFinished(() => scratch.remove());
    const identity = createSelfSignedIdentity({ name: "localhost" });
    const [folder, other] = [join(scratch.path, "authorities"), join(scratch.path, "other.pem")];
    await mkdir(folder);
    const file = join(folder, "own.pem");
    await writeFile(file, String(identity.certificate));
    await writeFile(other, String(createSelfSignedIdentity({ name: "other.example" }).certificate));
    const server = createServer({
      cert: String(identity.certificate),
      key: String(identity.privateKey),
      ALPNProtocols: ["h2"],
    });
    onTestFinished(() => void server.close());
    server.on("tlsClientError", () => undefined);
    await once(server.listen(0, "localhost"), "listening");
    const { port } = server.address() as AddressInfo;
    const reached = once(server, "secureConnection");
    const env = { SSL_CERT_FILE: other, NODE_EXTRA_CA_CERTS: other };
    const child = new ExecutorChild({
      env: { ...env, [variable]: variable === "SSL_CERT_DIR" ? folder : file },
    });
    onTestFinished(() => child.kill());
    child.events.resume();
    const store = { address: { host: "localhost", port }, token: "none", tls: {} };
    await writeFrame(child.control, { type: "job", job: await testJob({ store }) });
    const [socket] = (await reached) as [{ destroy(): void }];
    socket.destroy();
  },
);
