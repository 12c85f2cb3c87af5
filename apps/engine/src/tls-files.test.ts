import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type DetailedPeerCertificate } from "node:tls";
import type { Clock } from "@stackwright/base/clock";
import { createSelfSignedIdentity, type TlsIdentity } from "@stackwright/proto/grpc";
import { describe, expect, it, onTestFinished } from "vitest";
import { serve } from "./serve.ts";
import { readTlsFiles, type TlsContent, watchTlsFiles } from "./tls-files.ts";

async function scratch() {
  const folder = await mkdtempDisposable(join(tmpdir(), "tls-"));
  onTestFinished(() => folder.remove());
  const files = {
    certificateFile: join(folder.path, "tls.pem"),
    keyFile: join(folder.path, "tls.key"),
  };
  const put = async ({ certificate, privateKey }: TlsIdentity): Promise<void> => {
    await writeFile(files.certificateFile, certificate);
    await writeFile(files.keyFile, privateKey);
  };
  return { path: folder.path, files, put };
}

/** A clock whose delayed tasks run when the test says so. */
function steps() {
  const tasks = new Set<() => void>();
  const scheduler: Clock = {
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    after: (_, task) => {
      tasks.add(task);
      return { [Symbol.dispose]: () => void tasks.delete(task) };
    },
  };
  /** Lets the next look at the files begin, and waits until it has ended. */
  const step = async (): Promise<void> => {
    const [task] = tasks;
    if (task === undefined) throw new Error("nothing is due");
    tasks.delete(task);
    task();
    while (tasks.size === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  return { scheduler, step, tasks };
}

describe("the files of a certificate", () => {
  it("are handed on when both have changed, and kept while they do not fit", async () => {
    const { files, put } = await scratch();
    const first = createSelfSignedIdentity();
    const second = createSelfSignedIdentity();
    await put(first);
    const taken: TlsContent[] = [];
    const said: string[] = [];
    const log = (_: object, message: string): void => void said.push(message);
    const logger = { debug: log, info: log, warn: log, error: log };
    const { scheduler, step, tasks } = steps();
    const watch = watchTlsFiles(files, await readTlsFiles(files), {
      logger,
      scheduler,
      take: (content) => void taken.push(content),
    });
    await step();
    expect(taken).toEqual([]);
    await writeFile(files.certificateFile, second.certificate);
    await step();
    await step();
    expect(taken).toEqual([]);
    expect(said).toEqual(["the certificate was not replaced; the old one stays"]);
    await put(second);
    await step();
    expect(taken).toEqual([{ cert: String(second.certificate), key: String(second.privateKey) }]);
    watch[Symbol.dispose]();
    expect(tasks.size).toBe(0);
  });

  it("are refused by name where they are not valid", async () => {
    const { files, put } = await scratch();
    await expect(readTlsFiles(files)).rejects.toThrow(files.certificateFile);
    const [one, other] = [createSelfSignedIdentity(), createSelfSignedIdentity()];
    await put({ certificate: one.certificate, privateKey: other.privateKey });
    await expect(readTlsFiles(files)).rejects.toMatchObject({ code: "ENGINE_CONFIG_INVALID" });
  });

  it("give a running server another certificate, for HTTPS and the storage service", async () => {
    const { path, files, put } = await scratch();
    const first = createSelfSignedIdentity({ name: "localhost" });
    const second = createSelfSignedIdentity({ name: "localhost" });
    await put(first);
    await using server = await serve(
      { store: "memory:", port: 0, storagePort: 0, tls: files, logLevel: "silent" },
      { directory: path, env: {}, tlsCheckMs: 10 },
    );
    const ports = [Number(new URL(server.url).port), server.storagePort ?? 0];
    const shown = async () => Promise.all(ports.map(async (port) => fingerprint(port)));
    const before = await shown();
    expect(before[0]).toBe(before[1]);
    await put(second);
    await expect
      .poll(async () => (await shown()).filter((one) => one !== before[0]).length)
      .toBe(2);
  });
});

async function fingerprint(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2", "http/1.1"] },
      () => {
        const certificate: DetailedPeerCertificate = socket.getPeerCertificate(true);
        socket.destroy();
        resolve(certificate.fingerprint256);
      },
    );
    socket.on("error", reject);
  });
}
