const MiB = 1024 ** 2;

/** What a function has to be for one platform, and what it may be. */
export interface FunctionPlatform {
  /** For users. */
  readonly title: string;
  /** Of the archive; beyond it the platform refuses it. */
  readonly maxArchiveBytes: number;
  /** Of the files that it becomes. */
  readonly maxUnpackedBytes: number;
  /** Larger archives are not taken by the console, and have to come from object storage. */
  readonly maxConsoleBytes: number;
  /** Architectures whose programs it runs, as ELF names them. */
  readonly machines: readonly ElfMachine[];
  /** What starts the function, besides the start program itself. */
  readonly files: readonly {
    readonly path: string;
    readonly mode?: number;
    readonly text: string;
  }[];
}

/** Architectures by their number in the header of a program for Linux. */
const ELF_MACHINES = { 62: "x86-64", 183: "arm64" } as const;

export type ElfMachine = (typeof ELF_MACHINES)[keyof typeof ELF_MACHINES];

/** The file of the start program: the one whose `handler` the platform calls by default. */
export const FUNCTION_START = "index.js";

// Names end in the version, so that the last one is the newest. Where there is none, the image brings its own.
const BOOTSTRAP = `#!/bin/sh
# Start file of an HTTP function: the platform runs it, and sends requests to 127.0.0.1:8000.
cd "$(dirname "$0")" || exit 1
for node in /opt/function/runtime/nodejs2[02468].*/rtsp/nodejs/bin/node; do
  [ -x "$node" ] && newest=$node
done
exec "\${newest:-node}" ${FUNCTION_START}
`;

// Callers come from outside of a container, so the start program wants a token.
const DOCKERFILE = `FROM node:24-bookworm-slim
COPY . /opt/function
USER 10001:10001
ENV HOME=/tmp HOST=0.0.0.0 PORT=8000
WORKDIR /tmp
EXPOSE 8000
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=5 \\
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT).then(() => process.exit(0), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/function/${FUNCTION_START}"]
`;

/** Source: FunctionGraph user manual, quotas and constraints of code packages. */
const FUNCTIONGRAPH = {
  maxArchiveBytes: 300 * MiB,
  maxUnpackedBytes: 1500 * MiB,
  maxConsoleBytes: 40 * MiB,
  machines: ["x86-64"],
} as const;

/** The platforms that functions are packed for. */
export const FUNCTION_PLATFORMS = {
  functiongraph: {
    title: "an HTTP function of FunctionGraph",
    ...FUNCTIONGRAPH,
    files: [{ path: "bootstrap", mode: 0o755, text: BOOTSTRAP }],
  },
  "functiongraph-event": {
    title: "an event function of FunctionGraph for Node.js 20",
    ...FUNCTIONGRAPH,
    files: [],
  },
  container: {
    title: "the folder of a container image",
    maxArchiveBytes: 4095 * MiB,
    maxUnpackedBytes: 4095 * MiB,
    maxConsoleBytes: 4095 * MiB,
    machines: ["x86-64", "arm64"],
    files: [{ path: "Dockerfile", text: DOCKERFILE }],
  },
} as const satisfies Readonly<Record<string, FunctionPlatform>>;

export type FunctionPlatformName = keyof typeof FUNCTION_PLATFORMS;

export function isFunctionPlatformName(name: string): name is FunctionPlatformName {
  return Object.hasOwn(FUNCTION_PLATFORMS, name);
}

/** Why the platform would refuse an archive; undefined where it takes it. */
export function sizeProblem(
  platform: FunctionPlatform,
  sizes: { readonly archiveBytes: number; readonly unpackedBytes: number },
): string | undefined {
  const { maxArchiveBytes, maxUnpackedBytes } = platform;
  const shown = (bytes: number) => `${Math.ceil(bytes / MiB)} MiB`;
  if (sizes.unpackedBytes > maxUnpackedBytes) {
    return `its files have ${shown(sizes.unpackedBytes)}, and the platform takes ${shown(maxUnpackedBytes)}`;
  }
  if (sizes.archiveBytes > maxArchiveBytes) {
    return `the archive has ${shown(sizes.archiveBytes)}, and the platform takes ${shown(maxArchiveBytes)}`;
  }
  return undefined;
}

/** Why the platform cannot run a program; undefined where it can, or where a script names another program that runs it. */
export function programProblem(platform: FunctionPlatform, head: Uint8Array): string | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  if (bytes.subarray(0, 2).toString("latin1") === "#!") return undefined;
  if (bytes.length < 20 || bytes.readUInt32BE(0) !== 0x7f454c46) {
    return "it is not a program for Linux";
  }
  const machine = bytes[5] === 1 ? bytes.readUInt16LE(18) : bytes.readUInt16BE(18);
  const name = (ELF_MACHINES as Readonly<Record<number, ElfMachine>>)[machine];
  if (name !== undefined && platform.machines.includes(name)) return undefined;
  const known = platform.machines.join(" and ");
  return `it is for ${name ?? "another architecture"}, and the platform has ${known}`;
}
