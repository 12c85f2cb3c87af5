import { spawn } from "node:child_process";
import { chmod, mkdir, readFile, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { extname, join } from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { CONTROL_FD, EVENTS_FD } from "../child-protocol.ts";
import { heapArgument, INHERITED, INHERITED_PATHS } from "../executor-process.ts";
import { DOOR_TLS, type DoorChannel, doorIdentity, KEEP_ALIVE_MS } from "./execution-door.ts";
import { podPlaces } from "./pod-places.ts";

/** What the arguments of a pod say. */
interface PodOptions {
  /** Of the worker: `HOST:PORT`. */
  readonly address: string;
  /** Of the execution. */
  readonly name: string;
  readonly keyFile: string;
  /** Where this may write. */
  readonly directory: string;
  /** Bytes of memory that the pod has. @default no bound */
  readonly maxMemoryBytes?: number | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Aborting ends the step, as the end of the worker does. */
  readonly signal: AbortSignal;
}

/** How long a worker is called that does not answer: names and rules of networks need some time for a new pod. */
const DIAL_MS = 60_000;
const DIAL_AGAIN_MS = 1_000;
const CONNECT_MS = 10_000;
/** What a shell says for a process that a signal ended: 128 and its number. */
const SIGNAL_CODES: Readonly<Record<string, number>> = { SIGABRT: 134, SIGKILL: 137 };

/**
 * What a pod of an execution does: it calls its worker, starts the executor as a child process, and passes on what both say, so that no
 * byte of an executor gets into the log of the pod. Resolves with the code to end with.
 */
export async function runPod(options: PodOptions): Promise<number> {
  const { directory, env, maxMemoryBytes, signal } = options;
  const key = Buffer.from((await readFile(options.keyFile, "utf8")).trim(), "base64");
  const places = podPlaces(directory);
  await mkdir(places.folder, { recursive: true, mode: 0o700 });
  await chmod(places.folder, 0o700);
  await mkdir(places.providers, { recursive: true, mode: 0o700 });
  await using store = await openStoreSocket(places.storeSocket, async () =>
    dial(options, key, "store", signal),
  );
  const output = await dial(options, key, "output", signal);
  const control = await dial(options, key, "control", signal);
  const inherited = Object.entries(env).filter(
    ([name]) => name === "PATH" || INHERITED.test(name) || INHERITED_PATHS.test(name),
  );
  const entry = fileURLToPath(new URL(`../child-main${extname(import.meta.url)}`, import.meta.url));
  const bounds = maxMemoryBytes === undefined ? [] : [heapArgument(maxMemoryBytes)];
  const child = spawn(process.execPath, [...bounds, entry], {
    cwd: places.folder,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
    env: {
      ...Object.fromEntries(inherited),
      LANG: "C.UTF-8",
      HOME: places.folder,
      TMPDIR: places.folder,
      NODE_COMPILE_CACHE: join(directory, "compile-cache"),
    },
  });
  const jobs = child.stdio[CONTROL_FD] as Writable;
  const events = child.stdio[EVENTS_FD] as Readable;
  for (const stream of [jobs, events, control, output]) stream.on("error", () => undefined);
  // The end of what the worker says ends the executor, which has 10 s for what it is doing.
  control.once("close", () => jobs.end());
  signal.addEventListener("abort", () => jobs.end(), { once: true });
  if (signal.aborted) jobs.end();
  control.pipe(jobs);
  events.pipe(control);
  child.stdout?.pipe(output, { end: false });
  child.stderr?.pipe(output, { end: false });
  const code = await new Promise<number>((resolve) => {
    child.once("error", () => resolve(1));
    child.once("close", (exit, by) => resolve(exit ?? SIGNAL_CODES[by ?? ""] ?? 1));
  });
  await Promise.all([control, output].map(ended));
  await store[Symbol.asyncDispose]();
  return code;
}

/** A socket of this pod that leads to the store by way of the worker. */
async function openStoreSocket(
  path: string,
  open: () => Promise<TLSSocket>,
): Promise<AsyncDisposable> {
  await rm(path, { force: true });
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    void lead(socket, open, sockets);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  return {
    [Symbol.asyncDispose]: async () => {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function lead(
  socket: Socket,
  open: () => Promise<TLSSocket>,
  sockets: Set<{ destroy(): void }>,
): Promise<void> {
  try {
    const upstream = await open();
    sockets.add(upstream);
    upstream.on("error", () => upstream.destroy());
    upstream.once("close", () => {
      sockets.delete(upstream);
      socket.destroy();
    });
    socket.once("close", () => upstream.destroy());
    if (socket.destroyed) upstream.destroy();
    socket.pipe(upstream).pipe(socket);
  } catch {
    socket.destroy();
  }
}

/** Calls the worker until it answers, or the time is over. */
async function dial(
  { address, name }: PodOptions,
  key: Buffer,
  channel: DoorChannel,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const until = performance.now() + DIAL_MS;
  for (;;) {
    try {
      return await dialOnce(address, doorIdentity(name, channel), key);
    } catch (error) {
      if (signal.aborted || performance.now() > until) {
        throw new Error(`the worker at ${address} cannot be reached`, { cause: error });
      }
      await delay(DIAL_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function dialOnce(address: string, identity: string, key: Buffer): Promise<TLSSocket> {
  const { hostname, port } = new URL(`tls://${address}`);
  const socket = connect({
    ...DOOR_TLS,
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port),
    pskCallback: () => ({ psk: key, identity }),
    // There is no certificate: only the worker has the key.
    checkServerIdentity: () => undefined,
  });
  socket.setKeepAlive(true, KEEP_ALIVE_MS).setNoDelay(true);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection in ${CONNECT_MS} ms`)),
      CONNECT_MS,
    );
    socket.once("secureConnect", () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}

/** Sends what is left, and ends a connection. */
async function ended(socket: TLSSocket): Promise<void> {
  if (socket.destroyed) return;
  await new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
    socket.end();
    setTimeout(() => socket.destroy(), CONNECT_MS).unref();
  });
}
