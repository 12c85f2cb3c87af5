import type { Duplex } from "node:stream";
import { type Clock, sleep } from "@stackwright/base/clock";
import type { Client, ConnectConfig, SFTPWrapper } from "ssh2";
import { type OutputRoom, PacedLines } from "./paced-lines.ts";
import type { SshHost, SshSettings } from "./ssh-settings.ts";

/** What an open connection can be asked for. */
export interface SshSession extends AsyncDisposable {
  /** Runs a command; its output becomes lines. Resolves with the exit status. */
  execute(command: string, onOutput: (line: string) => void, room?: OutputRoom): Promise<number>;
  sftp(): Promise<SFTPWrapper>;
}

interface ConnectOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onOutput: (line: string) => void;
  /** Path of the socket of the SSH agent. */
  readonly agentSocket: string | undefined;
  /** Time between two signs of life that the host is asked for. @default 15_000 */
  readonly keepAliveMs?: number;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 20_000;
/** One attempt; the host gets further ones until the time of the connection is over. */
const ATTEMPT_MS = 30_000;
const KEEP_ALIVE_MS = 15_000;
/** Unanswered questions for a sign of life after which the connection has ended: nothing else says that a host is gone. */
const LONGEST_SILENCE = 8;

/** The host has another key than the configuration names: no further attempt is made. */
class HostKeyError extends Error {}

/** Connects, again and again until the host accepts the connection or the time is over. */
export async function connectSsh(
  settings: SshSettings,
  options: ConnectOptions,
): Promise<SshSession> {
  const { clock, signal, onOutput } = options;
  const { host, port, user, timeoutMs, bastion } = settings;
  const by = bastion === undefined ? "" : ` through ${bastion.host}`;
  onOutput(`Connecting to ${user}@${host}:${port} by SSH${by}...`);
  const deadline = clock.monotonicMs() + timeoutMs;
  let wait = FIRST_WAIT_MS;
  for (;;) {
    signal.throwIfAborted();
    try {
      const session = await openSession(settings, options);
      onOutput("Connected");
      return session;
    } catch (error) {
      const left = deadline - clock.monotonicMs();
      if (error instanceof HostKeyError || isUnusableKey(error) || left <= wait) {
        const problem = error instanceof Error ? error.message : String(error);
        throw new Error(`cannot connect to ${user}@${host}:${port} by SSH: ${problem}`, {
          cause: error,
        });
      }
    }
    await sleep(clock, wait, signal);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

async function openSession(settings: SshSettings, options: ConnectOptions): Promise<SshSession> {
  await using clients = new AsyncDisposableStack();
  const agent = settings.agent ? options.agentSocket : undefined;
  const { signal, keepAliveMs = KEEP_ALIVE_MS } = options;
  const add = (client: Client): Client => {
    const onAbort = (): void => void client.destroy();
    signal.addEventListener("abort", onAbort, { once: true });
    clients.defer(() => {
      signal.removeEventListener("abort", onAbort);
      client.end();
    });
    return client;
  };
  let through: Duplex | undefined;
  const { bastion } = settings;
  if (bastion !== undefined) {
    const outer = add(await openClient(bastion, { agent, signal, keepAliveMs }));
    through = await new Promise<Duplex>((resolve, reject) => {
      outer.forwardOut("127.0.0.1", 0, settings.host, settings.port, (error, stream) => {
        if (error === undefined) resolve(stream);
        else reject(new Error(`the bastion ${bastion.host} refused to connect: ${error.message}`));
      });
    });
  }
  const client = add(await openClient(settings, { agent, through, signal, keepAliveMs }));
  const owned = clients.move();
  return {
    execute: async (command, onOutput, room) => execute(client, command, onOutput, room),
    sftp: async () =>
      new Promise((resolve, reject) => {
        client.sftp((error, sftp) => (error === undefined ? resolve(sftp) : reject(error)));
      }),
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

async function openClient(
  { host, port, user, password, privateKey, hostKey }: SshHost,
  {
    agent,
    through,
    signal,
    keepAliveMs,
  }: {
    readonly agent: string | undefined;
    readonly through?: Duplex | undefined;
    readonly signal: AbortSignal;
    readonly keepAliveMs: number;
  },
): Promise<Client> {
  signal.throwIfAborted();
  const { Client } = await import("ssh2");
  const expected = hostKey === undefined || hostKey === "" ? undefined : parseHostKey(hostKey);
  let wrongKey: HostKeyError | undefined;
  const config: ConnectConfig = {
    host,
    port,
    username: user,
    readyTimeout: ATTEMPT_MS,
    keepaliveInterval: keepAliveMs,
    keepaliveCountMax: LONGEST_SILENCE,
    ...(password !== undefined && { password, tryKeyboard: true }),
    ...(privateKey !== undefined && { privateKey }),
    ...(agent !== undefined && { agent }),
    ...(through !== undefined && { sock: through }),
    ...(expected !== undefined && { algorithms: { serverHostKey: algorithmsOf(expected.type) } }),
    hostVerifier: (key: Buffer) => {
      if (expected === undefined || key.equals(expected.bytes)) return true;
      wrongKey = new HostKeyError(`the host key of ${host} is not the one in host_key`);
      return false;
    },
  };
  const client = new Client();
  client.on("keyboard-interactive", (_name, _instructions, _language, prompts, finish) => {
    finish(prompts.map(() => password ?? ""));
  });
  const onAbort = (): void => void client.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      client.once("ready", resolve);
      client.once("error", (error) => reject(wrongKey ?? error));
      client.once("close", () => reject(wrongKey ?? new Error("the connection was closed")));
      client.connect(config);
    });
  } catch (error) {
    client.destroy();
    signal.throwIfAborted();
    // What the server offers has no key of the expected type.
    if (expected !== undefined && error instanceof Error && /host key/i.test(error.message)) {
      throw wrongKey ?? new HostKeyError(`${host} has no host key of the type in host_key`);
    }
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  // An error after the handshake ends the operation that waits; without a listener it would end the process.
  client.on("error", () => undefined);
  return client;
}

type HostKeyAlgorithms = NonNullable<NonNullable<ConnectConfig["algorithms"]>["serverHostKey"]>;

/** RSA keys are used with newer signatures than their type names. */
function algorithmsOf(type: string): HostKeyAlgorithms {
  const names = type === "ssh-rsa" ? ["rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"] : [type];
  return names as HostKeyAlgorithms;
}

function parseHostKey(text: string): { readonly type: string; readonly bytes: Buffer } {
  const [type = "", encoded = ""] = text.trim().split(/\s+/);
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.length > 0 && /^(?:ssh-|ecdsa-)/.test(type)) return { type, bytes };
  throw new HostKeyError("host_key is not a public key: write it as ssh-ed25519 AAAA...");
}

/** Whether the private key itself is wrong, so that no attempt can succeed. */
function isUnusableKey(error: unknown): boolean {
  return error instanceof Error && /privateKey|private key/i.test(error.message);
}

async function execute(
  client: Client,
  command: string,
  onOutput: (line: string) => void,
  room: OutputRoom | undefined,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const onClose = (): void => reject(new Error("the connection was closed"));
    client.once("close", onClose);
    client.exec(command, (error, channel) => {
      if (error !== undefined) {
        client.off("close", onClose);
        reject(error);
        return;
      }
      const lines = new PacedLines(onOutput, room);
      let status: number | undefined;
      lines.read(channel);
      lines.read(channel.stderr);
      channel.on("exit", (code: number | null) => {
        status = code ?? 1;
      });
      channel.on("close", () => {
        client.off("close", onClose);
        lines.end();
        if (status === undefined) reject(new Error("the command ended without an exit status"));
        else resolve(status);
      });
    });
  });
}
