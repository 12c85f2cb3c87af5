import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { writeCredentials } from "../connection/server-credentials.ts";
import { runInteractively } from "../testing/interactive-command.ts";
import { type SpawnedCommand, spawnCommand } from "../testing/spawned-command.ts";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

/* A server with a certificate that is not trusted, and a user who sets no variable about it. */
describe("login at a server with a certificate of its own", { timeout: 180_000 }, () => {
  const identity = createSelfSignedIdentity();
  const { fingerprint256 } = new X509Certificate(String(identity.certificate));
  let folder: string;
  let certificate: string;
  let server: string;
  let store: string;
  let token: string;
  let env: Record<string, string>;

  beforeEach(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "login-authority-"));
    onTestFinished(() => scratch.remove());
    folder = join(scratch.path, "stack");
    await mkdir(folder);
    certificate = join(scratch.path, "server.pem");
    const keyFile = join(scratch.path, "server.key");
    await writeFile(certificate, String(identity.certificate));
    await writeFile(keyFile, String(identity.privateKey), { mode: 0o600 });
    const started = await startServer("none", {
      storagePort: 0,
      tls: { certificateFile: certificate, keyFile },
    });
    ({ token } = started);
    server = started.server.url.replace("127.0.0.1", "localhost");
    store = String(started.server.storageAddress).replace("127.0.0.1", "localhost");
    env = { HOME: scratch.path };
  }, 60_000);

  const stored = () => join(env["HOME"] ?? "", ".config/stackwright/credentials.json");
  /** As a process: what a login lets its process trust is no help to others. */
  const spawn = async (
    words: readonly string[],
    variables: Record<string, string> = {},
  ): Promise<{ readonly code: number | null; readonly text: string }> => {
    await using command: SpawnedCommand = spawnCommand(words, {
      cwd: folder,
      env: { ...env, ...variables },
    });
    return { code: await command.ended, text: command.text() };
  };

  it("refuses it, and sends nothing, without a terminal to compare the fingerprint in", async () => {
    const login = ["login", "--server", server];
    const refused = await tryCommand(login, { cwd: folder, env, input: `${token}\n` });
    expect(refused.code).toBe(1);
    expect(refused.error).toContain("is not trusted here");
    expect(refused.error).toContain(`stackwright login --server ${server} --ca-file FILE`);
    expect(existsSync(stored())).toBe(false);
    const { code, text } = await spawn(["projects", "list", "--server", server], {
      STACKWRIGHT_TOKEN: token,
    });
    expect(code).toBe(1);
    expect(text).toContain("--ca-file FILE");
  });

  it("trusts a file from then on, for requests and for the store, at this host alone", async () => {
    const words = ["login", "--server", server, "--ca-file", "../server.pem"];
    const login = await tryCommand(words, { cwd: folder, env, input: `${token}\n` });
    expect(login, login.error).toMatchObject({ code: 0, error: "" });
    expect(login.output).toContain("trust its certificate for localhost");

    expect(await spawn(["projects", "list"])).toMatchObject({ code: 0 });
    await writeFile(join(folder, "main.tf"), 'resource "terraform_data" "a" {}\n');
    const up = await spawn(["up", "--yes", "--store", store], { STACKWRIGHT_TOKEN: token });
    expect(up.code, up.text).toBe(0);

    const other = server.replace("localhost", "127.0.0.1");
    const { code, text } = await spawn(["projects", "list", "--server", other], {
      STACKWRIGHT_TOKEN: token,
    });
    expect([code, text]).toEqual([1, expect.stringContaining("is not trusted here")]);

    // Another login needs no file, and another certificate is not trusted.
    const again = await tryCommand(["login", "--server", server], {
      cwd: folder,
      env,
      input: `${token}\n`,
    });
    expect(again.code, again.error).toBe(0);
    expect(await readFile(stored(), "utf8")).toContain("BEGIN CERTIFICATE");
    const impostor = createSelfSignedIdentity();
    const peer = createServer(
      { cert: String(impostor.certificate), key: String(impostor.privateKey) },
      () => expect.unreachable("it got a request"),
    );
    await new Promise<void>((resolve) => void peer.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void peer.close());
    const { port } = peer.address() as AddressInfo;
    const moved = ["projects", "list", "--server", `https://localhost:${port}`];
    expect((await spawn(moved, { STACKWRIGHT_TOKEN: token })).code).toBe(1);
  });

  it("trusts what the system trusts beside it, once the server has another certificate", async () => {
    const former = String(createSelfSignedIdentity().certificate);
    const servers = {
      [server]: { token, authority: former },
      "no address": { token, authority: former },
    };
    await writeCredentials(stored(), { current: server, servers });
    const system = { SSL_CERT_FILE: certificate, STACKWRIGHT_TOKEN: token };
    await writeFile(join(folder, "main.tf"), 'resource "terraform_data" "a" {}\n');
    const up = await spawn(["up", "--yes", "--store", store], system);
    expect(up.code, up.text).toBe(0);
  });

  it("shows the fingerprint in a terminal, and trusts it once the user says so", async () => {
    const no = runInteractively(["login", "--server", server], { cwd: folder, env });
    await no.waitFor(/Trust it for localhost/);
    expect(no.text()).toContain(fingerprint256);
    no.type("y");
    expect(await no.ended).toBe(1);
    expect(no.text()).toContain("Nothing was sent");
    expect(existsSync(stored())).toBe(false);

    const yes = runInteractively(["login", "--server", server], { cwd: folder, env });
    await yes.waitFor(/Trust it for localhost/);
    yes.type("yes");
    await yes.waitFor(/Token for/);
    yes.type(token);
    expect(await yes.ended, yes.text()).toBe(0);
    expect(await spawn(["projects", "list"])).toMatchObject({ code: 0 });
  });

  it("says what is wrong with the file of an authority", async () => {
    const login = async (...words: string[]) =>
      tryCommand(["login", ...words], { cwd: folder, env });
    expect((await login("--server", server, "--ca-file", "none")).error).toContain(
      "cannot be read",
    );
    await writeFile(join(folder, "text"), "no certificate\n");
    expect((await login("--server", server, "--ca-file", "text")).error).toContain(
      "holds no certificate in PEM",
    );
    const plain = await login("--server", "http://localhost:1", "--ca-file", "text");
    expect(plain.error).toContain("--ca-file is for a server with TLS");
    expect((await login("localhost:1", "--ca-file", "text")).error).toContain(
      "--ca-file is for a server",
    );
  });
});
