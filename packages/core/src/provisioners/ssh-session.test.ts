import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { systemClock } from "@stackwright/base/clock";
import { Value } from "@stackwright/cty";
import { Server, utils } from "ssh2";
import { expect, it, onTestFinished } from "vitest";
import { runRemoteScripts } from "./remote-provisioners.ts";
import { connectSsh, type SshSession } from "./ssh-session.ts";
import type { SshSettings } from "./ssh-settings.ts";

/** What the host was asked to do with a file. */
interface Host {
  readonly port: number;
  readonly modes: number[];
  /** From here on nothing passes, and nothing says that the connection is gone. */
  readonly vanish: () => void;
}

async function startHost(status: number | undefined): Promise<Host> {
  const modes: number[] = [];
  const server = new Server({ hostKeys: [utils.generateKeyPairSync("ed25519").private] });
  server.on("connection", (client) => {
    client.on("error", () => undefined);
    client.on("authentication", (context) => context.accept());
    // Is never answered.
    client.on("tcpip", () => undefined);
    client.on("session", (accept) => {
      const session = accept();
      session.on("exec", (acceptCommand) => {
        const channel = acceptCommand();
        channel.write("begun\n");
        if (status === undefined) return;
        channel.exit(status);
        channel.end();
      });
      session.on("sftp", (acceptFiles) => {
        const files = acceptFiles();
        const handle = Buffer.from("h");
        files.on("OPEN", (id, _name, _flags, { mode }) => {
          modes.push(mode ?? -1);
          files.handle(id, handle);
        });
        files.on("WRITE", (id) => files.status(id, 0));
        files.on("CLOSE", (id) => files.status(id, 0));
        files.on("REMOVE", (id) => files.status(id, 0));
        files.on("SETSTAT", (id, _name, { mode }) => {
          modes.push(mode ?? -1);
          files.status(id, 0);
        });
      });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: inner } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const proxy = createServer((from) => {
    const to = connect(inner, "127.0.0.1");
    sockets.push(from, to);
    for (const socket of [from, to]) socket.on("error", () => undefined);
    from.pipe(to);
    to.pipe(from);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    server.close();
  });
  const vanish = (): void => {
    for (const socket of sockets) {
      socket.unpipe();
      socket.pause();
    }
  };
  return { port: (proxy.address() as AddressInfo).port, modes, vanish };
}

async function open(
  port: number,
  more: { readonly bastion?: SshSettings["bastion"]; readonly signal?: AbortSignal } = {},
): Promise<SshSession> {
  const settings: SshSettings = {
    host: "127.0.0.1",
    port,
    user: "u",
    password: "p",
    privateKey: undefined,
    hostKey: undefined,
    bastion: more.bastion,
    agent: false,
    timeoutMs: 10_000,
    scriptPath: "/tmp/s_%RAND%.sh",
  };
  const { signal = new AbortController().signal } = more;
  const onOutput = (): void => undefined;
  const options = { clock: systemClock, signal, onOutput, agentSocket: undefined, keepAliveMs: 50 };
  return connectSsh(settings, options);
}

it("ends a command whose host is gone without a word", async () => {
  const { port, vanish } = await startHost(undefined);
  await using session = await open(port);
  const ended = session.execute("sleep", vanish);
  await expect(ended).rejects.toThrow("the connection was closed");
});

it("ends at once while a bastion connects to a host that does not answer", async () => {
  const { port } = await startHost(0);
  const stop = new AbortController();
  const bastion = {
    host: "127.0.0.1",
    port,
    user: "u",
    password: "p",
    privateKey: undefined,
    hostKey: undefined,
  };
  const opening = open(1, { bastion, signal: stop.signal });
  setTimeout(() => stop.abort(), 1_000);
  await expect(opening).rejects.toThrow("aborted");
}, 10_000);

it("stores a script so that no other user can read or change it", async () => {
  const { port, modes } = await startHost(0);
  await using session = await open(port);
  const lines = Value.list([Value.string("echo secret")]);
  const config = Value.object([["inline", lines]]);
  const options = { directory: "/", scriptPath: "/tmp/s_%RAND%.sh" };
  await runRemoteScripts(config, session, options, { onOutput: () => undefined });
  expect(modes.map((mode) => mode & 0o777)).toEqual([0o700, 0o700]);
});
