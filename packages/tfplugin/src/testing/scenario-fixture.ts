import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JsonValue } from "@stackwright/base/json";
import type { Transcript } from "./transcript.ts";

/** What the command made of a scenario, and what our client said to the provider and heard from it. */
interface ScenarioFixture {
  /** Of the server that the scenario asked. */
  readonly address: string;
  /** Without what is drawn by lot. */
  readonly command: JsonValue;
  readonly transcript: Transcript;
}

const pathOf = (name: string) => join(import.meta.dirname, "../../fixtures/driver", `${name}.json`);

export async function readFixture(name: string): Promise<ScenarioFixture> {
  return JSON.parse(await readFile(pathOf(name), "utf8")) as ScenarioFixture;
}

export async function writeFixture(name: string, fixture: ScenarioFixture): Promise<void> {
  await mkdir(dirname(pathOf(name)), { recursive: true });
  await writeFile(pathOf(name), `${JSON.stringify(fixture, null, 1)}\n`);
}
