import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { expect, onTestFinished } from "vitest";

interface CommandResult {
  readonly code: number | null;
  readonly text: string;
}

/** A certificate of `localhost` as files, for a server and for the commands that trust it. */
export async function localhostCertificate() {
  const directory = await mkdtemp(join(tmpdir(), "tfe-tls-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const identity = createSelfSignedIdentity({ name: "localhost" });
  const [certificateFile, keyFile] = [join(directory, "tls.pem"), join(directory, "tls.key")];
  await writeFile(certificateFile, String(identity.certificate));
  await writeFile(keyFile, String(identity.privateKey));
  return { certificateFile, keyFile };
}

/** A root module in a folder, and the command in it. */
export async function terraformRoot(command: string, given: Readonly<Record<string, string>>) {
  const directory = await mkdtemp(join(tmpdir(), "tfe-root-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, "rc"), "");
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "",
    HOME: directory,
    CHECKPOINT_DISABLE: "1",
    TF_IN_AUTOMATION: "1",
    TF_CLI_CONFIG_FILE: join(directory, "rc"),
    ...given,
  };
  const children: { readonly child: ChildProcess; readonly ended: Promise<CommandResult> }[] = [];
  onTestFinished(async () => {
    for (const { child } of children) child.kill("SIGKILL");
    await Promise.all(children.map(async ({ ended }) => ended));
  });
  const start = (words: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    // A group of its own: with the command end the programs that it started.
    const child = spawn(command, [...words], {
      cwd: directory,
      env: { ...env, TF_CLI_ARGS: "-no-color", ...more },
      detached: true,
    });
    const output = { text: "" };
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output.text += String(chunk);
      });
    }
    const ended = new Promise<CommandResult>((resolve) => {
      child.once("close", (code) => resolve({ code, text: output.text }));
    });
    const started = { child, ended, output };
    children.push(started);
    return started;
  };
  const exec = async (...words: readonly string[]): Promise<CommandResult> => {
    const started = start(words);
    started.child.stdin.end();
    return started.ended;
  };
  /** The text of a command that has to succeed. */
  const ok = async (...words: readonly string[]): Promise<string> => {
    const { code, text } = await exec(...words);
    expect([words, code, code === 0 ? "" : text]).toEqual([words, 0, ""]);
    return text;
  };
  /** The text of a command that has to fail, in one line. */
  const fails = async (...words: readonly string[]): Promise<string> => {
    const { code, text } = await exec(...words);
    expect([words, code, code === 1 ? "" : text]).toEqual([words, 1, ""]);
    return text.replaceAll(/[\s│]+/g, " ");
  };
  const write = async (text: string, name = "main.tf"): Promise<void> =>
    writeFile(join(directory, name), text);
  return { directory, env, start, exec, ok, fails, write };
}
