import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

// A container engine that a test plays: the arguments and answers of `docker`, over processes of this machine. The first argument
// is its folder, in which each container is a file; `PLAYED_PROGRAM` is what its image does.

const [folder = "", command = "", ...args] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

interface Played {
  readonly name: string;
  readonly label: string;
  readonly pid: number;
  readonly code: number | undefined;
}

const fileOf = (name: string): string => join(folder, `${name}.json`);

function read(name: string): Played | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(name), "utf8")) as Played;
  } catch {
    return undefined;
  }
}

function all(): readonly Played[] {
  const names = readdirSync(folder).filter((file) => file.endsWith(".json"));
  return names.flatMap((file) => read(file.slice(0, -5)) ?? []);
}

const optionOf = (name: string): string => args[args.indexOf(name) + 1] ?? "";

function end(one: Played): boolean {
  if (one.code !== undefined) return false;
  try {
    process.kill(-one.pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

function run(): void {
  const [name, label] = [optionOf("--name"), optionOf("--label")];
  if (read(name) !== undefined) process.exit(125);
  writeFileSync(join(folder, "arguments"), args.join("\n"));
  const program = process.env["PLAYED_PROGRAM"] ?? "";
  const child = spawn(process.execPath, ["--eval", program], { detached: true, stdio: "inherit" });
  const one = { name, label, pid: child.pid ?? 0 };
  writeFileSync(fileOf(name), JSON.stringify({ ...one, code: undefined }));
  child.once("exit", (code, signal) => {
    const exit = signal === "SIGKILL" ? 137 : (code ?? 1);
    if (read(name) !== undefined)
      writeFileSync(fileOf(name), JSON.stringify({ ...one, code: exit }));
    process.exit(exit);
  });
}

switch (command) {
  case "run":
    run();
    break;
  case "kill": {
    const one = read(args.at(-1) ?? "");
    process.exitCode = one !== undefined && end(one) ? 0 : 1;
    break;
  }
  case "rm": {
    const one = read(args.at(-1) ?? "");
    if (one === undefined) process.exitCode = 1;
    else {
      end(one);
      rmSync(fileOf(one.name), { force: true });
    }
    break;
  }
  case "container": {
    const one = read(args.at(-1) ?? "");
    if (one === undefined) process.exitCode = 1;
    else process.stdout.write(`${one.code ?? 0} ${one.code === 99}\n`);
    break;
  }
  case "ps": {
    const found = all().filter(({ label }) => optionOf("--filter") === `label=${label}`);
    for (const { name } of found) process.stdout.write(`${name}\n`);
    break;
  }
  default:
    process.exitCode = 1;
}
