import { mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { describe, expect, it, vi } from "vitest";
import { ECHO, isThere, program, shell } from "../testing/programs/programs.ts";
import { launchTerraformProvider } from "./launch-provider.ts";
import type { ProviderLogEntry } from "./log-line.ts";

/* Real processes: the echo provider is served by this package, the broken ones are shell texts. */

const encode = (text: string) => Buffer.from(text);

describe("a provider that is launched", () => {
  it("answers over an encrypted connection, and leaves nothing behind", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "launch-"));
    const provider = await launchTerraformProvider({ ...ECHO, runtimeDirectory: scratch.path });
    const { transport, pid = 0 } = provider;
    const echoed = await transport.unary("ReadResource", encode("hello"), {});
    const streamed: string[] = [];
    for await (const message of transport.stream?.("ListResource", encode("x"), {}) ?? []) {
      streamed.push(Buffer.from(message).toString());
    }
    await provider.close();

    expect(Buffer.from(echoed).toString()).toBe("hello");
    expect(streamed).toEqual(["x", "x", "x"]);
    expect(provider.protocol).toBe(6);
    expect(provider.exit).toEqual({ code: 0, signal: undefined });
    await expect.poll(() => isThere(pid)).toBe(false);
    expect(await readdir(scratch.path)).toEqual([]);
  });

  it("speaks protocol 5 where the provider does", async () => {
    await using provider = await launchTerraformProvider(program("echo-provider.ts", "five"));
    await provider.checkHealth();
    expect(provider.protocol).toBe(5);
    expect(provider.transport.protocol).toBe(5);
  });

  it("gets the environment that it is given, and private folders in place of what is missing", async () => {
    await using provider = await launchTerraformProvider({
      ...ECHO,
      env: { ...(process.env.PATH !== undefined && { PATH: process.env.PATH }), GREETING: "hi" },
    });
    const reply = await provider.transport.unary("GetMetadata", new Uint8Array(), {});
    const env = JSON.parse(Buffer.from(reply).toString()) as Record<string, string>;
    const names = Object.keys(env).filter((name) => !/^(?:PATH|PWD|OLDPWD|SHLVL|_)$/.test(name));
    expect(names.toSorted()).toEqual([
      "GREETING",
      "HOME",
      "PLUGIN_CLIENT_CERT",
      "PLUGIN_MAX_PORT",
      "PLUGIN_MIN_PORT",
      "PLUGIN_PROTOCOL_VERSIONS",
      "PLUGIN_UNIX_SOCKET_DIR",
      "TF_PLUGIN_MAGIC_COOKIE",
      "TMPDIR",
    ]);
    expect(env.HOME).toBe(env.PLUGIN_UNIX_SOCKET_DIR);
  });

  it("logs what it prints, before and in calls", async () => {
    const log: ProviderLogEntry[] = [];
    await using provider = await launchTerraformProvider({
      ...ECHO,
      onLog: (entry) => log.push(entry),
    });
    await provider.transport.unary("ReadResource", new Uint8Array(), {});
    await vi.waitFor(() => {
      expect(log.map(({ message }) => message)).toEqual([
        "printed by a library",
        "printed in a call",
      ]);
    });
  });

  it("carries messages of 64 MiB, and refuses what is over the limit", async () => {
    await using provider = await launchTerraformProvider({
      ...ECHO,
      maxMessageBytes: 65 * 1024 * 1024,
    });
    const { transport } = provider;
    const large = await transport.unary("CallFunction", encode(String(64 * 1024 * 1024)), {});
    expect(large.length).toBe(64 * 1024 * 1024);
    const tooLarge = transport.unary("CallFunction", encode(String(66 * 1024 * 1024)), {});
    await expect(tooLarge).rejects.toMatchObject({
      code: "TFPLUGIN_MESSAGE_TOO_LARGE",
      outcome: "unknown",
    });
  });

  it("says so where it does not have a method", async () => {
    await using provider = await launchTerraformProvider(ECHO);
    await expect(provider.transport.unary("Dance", new Uint8Array(), {})).rejects.toMatchObject({
      code: "TFPLUGIN_METHOD_UNIMPLEMENTED",
      outcome: "not-applied",
    });
  });

  it("ends a call by its signal, and another one continues", async () => {
    await using provider = await launchTerraformProvider(ECHO);
    const { transport } = provider;
    const given = new AbortController();
    const call = transport.unary("PlanResourceChange", new Uint8Array(), { signal: given.signal });
    given.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    expect(await transport.unary("ReadResource", encode("on"), {})).toHaveLength(2);
  });

  it("rejects calls in progress when it is closed, and later ones", async () => {
    const provider = await launchTerraformProvider(ECHO);
    const call = provider.transport.unary("PlanResourceChange", new Uint8Array(), {});
    const rejected = expect(call).rejects.toMatchObject({ code: "TFPLUGIN_CLOSED" });
    await Promise.all([provider.close(), provider.transport.close()]);
    await rejected;
    await expect(
      provider.transport.unary("ReadResource", new Uint8Array(), {}),
    ).rejects.toMatchObject({ code: "TFPLUGIN_CLOSED", outcome: "not-applied" });
  });

  it("that dies in a call leaves the outcome unknown, and reports its last output", async () => {
    await using provider = await launchTerraformProvider(ECHO);
    const { transport } = provider;
    await expect(
      transport.unary("ApplyResourceChange", new Uint8Array(), {}),
    ).rejects.toMatchObject({
      code: "TFPLUGIN_PROCESS_CRASHED",
      outcome: "unknown",
      message: expect.stringContaining("panic: out of luck"),
    });
    await expect(transport.unary("ReadResource", new Uint8Array(), {})).rejects.toMatchObject({
      code: "TFPLUGIN_PROCESS_ENDED",
      outcome: "not-applied",
    });
    await expect(provider.checkHealth()).rejects.toMatchObject({ code: "TFPLUGIN_PROCESS_ENDED" });
  });

  it("that does not end when it is asked to is killed", async () => {
    const provider = await launchTerraformProvider({
      ...program("echo-provider.ts", "stubborn"),
      shutdownTimeoutMs: 300,
      graceMs: 100,
    });
    const { pid = 0 } = provider;
    await provider.close();
    expect(provider.exit?.signal).toBe("SIGKILL");
    // Its pipes are closed a moment before it is gone.
    await expect.poll(() => isThere(pid)).toBe(false);
  });
});

describe("a start that fails", () => {
  const CERTIFICATE = "A".repeat(80);

  it.each([
    ["there is no such program", { command: "/does/not/exist" }, "TFPLUGIN_PROGRAM_NOT_FOUND"],
    [
      "there is no such folder",
      { ...shell(""), cwd: "/does/not/exist" },
      "TFPLUGIN_PROGRAM_NOT_FOUND",
    ],
    ["nothing is printed", { ...shell("sleep 60"), startTimeoutMs: 50 }, "TFPLUGIN_START_TIMEOUT"],
    ["it ends with code 3", shell("echo broken >&2; exit 3"), "TFPLUGIN_START_EXITED"],
    ["garbage is printed", shell("echo hello; sleep 60"), "TFPLUGIN_HANDSHAKE_INVALID"],
    ["a line without an end is printed", shell("yes | tr -d '\\n'"), "TFPLUGIN_HANDSHAKE_INVALID"],
    [
      "the handshake is of another version",
      shell("echo '2|5|unix|/x|grpc|'; sleep 60"),
      "TFPLUGIN_HANDSHAKE_INVALID",
    ],
    [
      "the protocol is too old",
      shell("echo '1|4|unix|/x|netrpc|'; sleep 60"),
      "TFPLUGIN_PROTOCOL_UNSUPPORTED",
    ],
    [
      "it talks something else",
      shell("echo '1|5|unix|/x|netrpc|'; sleep 60"),
      "TFPLUGIN_HANDSHAKE_INVALID",
    ],
    [
      "it listens elsewhere",
      shell("echo '1|5|tcp|192.0.2.1:80|grpc|'; sleep 60"),
      "TFPLUGIN_HANDSHAKE_INVALID",
    ],
    [
      "it does not encrypt",
      shell("echo '1|5|unix|/x|grpc|'; sleep 60"),
      "TFPLUGIN_CERTIFICATE_MISSING",
    ],
    [
      "its certificate is padded",
      shell(`echo '1|5|unix|/x|grpc|${CERTIFICATE}='; sleep 60`),
      "TFPLUGIN_CERTIFICATE_INVALID",
    ],
    [
      "its certificate is none",
      shell(`echo '1|5|unix|/x|grpc|${CERTIFICATE}'; sleep 60`),
      "TFPLUGIN_CERTIFICATE_INVALID",
    ],
    [
      "nobody listens",
      { ...shell("echo '1|5|unix|/x|grpc|'; sleep 60"), allowPlaintext: true },
      "TFPLUGIN_CONNECT_FAILED",
    ],
    [
      "it ends after the handshake",
      { ...shell("echo '1|5|unix|/x|grpc|'; exit 4"), allowPlaintext: true },
      "TFPLUGIN_START_EXITED",
    ],
  ] as const)("because %s is told apart", async (_why, options, code) => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "launch-"));
    const start = launchTerraformProvider({ ...options, runtimeDirectory: scratch.path });
    await expect(start).rejects.toMatchObject({ code });
    expect(await readdir(scratch.path)).toEqual([]);
  });

  it("because the certificate is not the one that the server has", async () => {
    // The provider's own line, with the certificate of the client in place of the server's.
    const text = `"${ECHO.command}" "${ECHO.args[0]}" | {
      read -r line
      der=$(printf %s "$PLUGIN_CLIENT_CERT" | sed 1d | sed '$d' | tr -d '\\n=')
      echo "\${line%|*}|$der"
      cat
    }`;
    await expect(launchTerraformProvider({ ...ECHO, ...shell(text) })).rejects.toMatchObject({
      code: "TFPLUGIN_CONNECT_FAILED",
      message: expect.stringMatching(/certificate|signature/i),
    });
  });

  it("because the server trusts another certificate than ours", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "launch-"));
    const other = join(scratch.path, "other.pem");
    await writeFile(other, createSelfSignedIdentity({ name: "localhost" }).certificate);
    const { command, args } = ECHO;
    const text = `PLUGIN_CLIENT_CERT="$(cat "${other}")" exec "${command}" "${args[0]}"`;
    await expect(launchTerraformProvider({ ...ECHO, ...shell(text) })).rejects.toMatchObject({
      code: "TFPLUGIN_CONNECT_FAILED",
    });
  });

  it("because it was given up leaves no process", async () => {
    const given = new AbortController();
    const start = launchTerraformProvider({ ...shell("sleep 60"), signal: given.signal });
    setTimeout(() => given.abort(new Error("enough")), 50);
    await expect(start).rejects.toThrow("enough");
  });
});
