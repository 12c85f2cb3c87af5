import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { BackendConfig } from "@stackwright/lang";
import { isEngineError } from "../errors.ts";
import { type BackendRecord, readBackendRecord } from "./backend-record.ts";
import { findState } from "./found-state.ts";
import {
  selectedWorkspace,
  type TerraformFolder,
  terraformDataFolder,
} from "./terraform-workspace.ts";

/** A sign that the configuration has a state that another command keeps. */
interface AdoptionEvidence {
  /** `certain`: there is a state, or was one. `possible`: there may be one. */
  readonly verdict: "possible" | "certain";
  readonly kind: "state" | "backend" | "lock" | "terragrunt";
  /** One line for the user, without credentials. */
  readonly text: string;
  /** Objects in it, where that is known. */
  readonly objects?: number;
  /** A state file, relative to the folder. */
  readonly path?: string;
  /** The stack of another store that adopted it. */
  readonly adopter?: { readonly stack: string; readonly store: string };
}

/** What is known about a Terraform state of a configuration, without the network. */
export interface Detection {
  readonly verdict: "none" | "possible" | "certain";
  readonly evidence: readonly AdoptionEvidence[];
}

interface DetectRequest extends TerraformFolder {
  /** The `backend` or `cloud` block of the root module. */
  readonly backend: BackendConfig | undefined;
  /** The stack: a state of a workspace with its name is its own. */
  readonly stack: string;
}

/** Looks for signs that a configuration is managed with Terraform, OpenTofu or terragrunt. Reads files only. */
export function detectAdoption(request: DetectRequest): Detection {
  const detector = new Detector(request);
  const evidence = detector.detect();
  const certain = evidence.some(({ verdict }) => verdict === "certain");
  return { verdict: certain ? "certain" : evidence.length > 0 ? "possible" : "none", evidence };
}

class Detector {
  readonly #request: DetectRequest;
  readonly #own: ReadonlySet<string>;
  readonly #workspace: string;
  readonly #seen = new Set<string>();

  constructor(request: DetectRequest) {
    this.#request = request;
    this.#workspace = selectedWorkspace(request)?.name ?? "default";
    this.#own = new Set([this.#workspace, request.stack]);
  }

  detect(): AdoptionEvidence[] {
    const { directory } = this.#request;
    const found = this.#record();
    const record = "damage" in found ? undefined : found.record;
    const block = this.#request.backend;
    // The block may have changed since init recorded it: there may be a state in either place.
    const places = [
      record?.type === "local" ? record.config : undefined,
      block?.type === "local" ? block.place : undefined,
    ];
    const states = new Map([["terraform.tfstate", "default"]]);
    const folders = new Set(["terraform.tfstate.d"]);
    for (const place of places) {
      const path = place?.get("path");
      if (path !== undefined) states.set(path, "default");
      const folder = place?.get("workspace_dir");
      if (folder !== undefined) folders.add(folder);
    }
    for (const parent of folders) {
      for (const name of namesIn(join(directory, parent))) {
        states.set(join(parent, name, "terraform.tfstate"), name);
      }
    }
    return [
      ...("damage" in found ? [found.damage] : []),
      ...(record !== undefined && record.type !== "local"
        ? [this.#remote(record.type, record.config, "recorded by init", "certain")]
        : block !== undefined && block.type !== "local"
          ? [this.#remote(block.type, block.place, placeOf(block), "possible")]
          : []),
      ...[...states].flatMap(([file, workspace]) => this.#state(file, workspace)),
      ...this.#state("errored.tfstate", this.#workspace),
      ...this.#locks([...states.keys()]),
      ...this.#terragrunt(block !== undefined || record !== undefined),
    ];
  }

  /** What init recorded. A damaged record may name a backend with a state. */
  #record():
    | { readonly record: BackendRecord | undefined }
    | { readonly damage: AdoptionEvidence } {
    const path = join(terraformDataFolder(this.#request), "terraform.tfstate");
    try {
      return { record: readBackendRecord(path) };
    } catch (error) {
      if (!isEngineError(error, "ENGINE_STATE_FILE_INVALID")) throw error;
      // As a state that cannot be read: a start without it has to be confirmed.
      return { damage: { verdict: "possible", kind: "state", text: error.message } };
    }
  }

  #remote(
    type: string,
    place: ReadonlyMap<string, string>,
    where: string,
    verdict: AdoptionEvidence["verdict"],
  ): AdoptionEvidence {
    const shown = SHOWN.flatMap((name) => {
      const value = place.get(name);
      return value === undefined ? [] : [`${name} ${withoutUser(value)}`];
    });
    const name = type === "cloud" ? "cloud" : `backend "${type}"`;
    const text = `${name} (${where}): ${[...shown, `workspace ${this.#workspace}`].join(", ")}`;
    return { verdict, kind: "backend", text };
  }

  #state(file: string, workspace: string): AdoptionEvidence[] {
    const { directory } = this.#request;
    const full = resolve(directory, file);
    if (this.#seen.has(full)) return [];
    this.#seen.add(full);
    const found = findState(full);
    if (found === undefined) return [];
    const path = relative(directory, full);
    if (found.kind === "unreadable") {
      const { problem, adopter } = found;
      const text = `state file ${path}: ${problem}`;
      return [{ verdict: "possible", kind: "state", path, text, ...(adopter && { adopter }) }];
    }
    const { objects, outputs } = found;
    if (objects === 0 && outputs === 0) return [];
    const verdict = this.#own.has(workspace) ? "certain" : "possible";
    const text = `state file ${path}: ${count(objects, "object")}, ${count(outputs, "output")}, workspace ${workspace}`;
    return [{ verdict, kind: "state", path, objects, text }];
  }

  /** Another command holds the lock of a state that may not be written yet. */
  #locks(files: readonly string[]): AdoptionEvidence[] {
    const { directory } = this.#request;
    return files.flatMap((file): AdoptionEvidence[] => {
      const full = resolve(directory, file);
      const name = `.${full.slice(full.lastIndexOf("/") + 1)}.lock.info`;
      const lock = join(dirname(full), name);
      if (!existsSync(lock)) return [];
      const text = `lock file ${relative(directory, lock)}: another command works on the state`;
      return [{ verdict: "possible", kind: "lock", text }];
    });
  }

  /** Terragrunt makes the backend block when it runs, so its absence says nothing. */
  #terragrunt(configured: boolean): AdoptionEvidence[] {
    if (configured) return [];
    const { directory } = this.#request;
    for (let folder = directory; ; folder = dirname(folder)) {
      const file = join(folder, "terragrunt.hcl");
      if (existsSync(file)) {
        const text = `terragrunt configuration ${relative(directory, file)}: it generates the backend block`;
        return [{ verdict: "possible", kind: "terragrunt", text }];
      }
      // A repository ends the search.
      if (existsSync(join(folder, ".git")) || dirname(folder) === folder) return [];
    }
  }
}

/** Arguments that are shown, in this order. */
const SHOWN = [
  "hostname",
  "organization",
  "address",
  "bucket",
  "storage_account_name",
  "container_name",
  "prefix",
  "key",
  "path",
  "schema_name",
  "namespace",
  "secret_suffix",
  "name",
];

function withoutUser(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, "$1").replace(/\?.*$/s, "");
}

function placeOf({ range }: BackendConfig): string {
  const { filename, start } = range.source.locate(range.start, range.end);
  return `${filename} line ${start.line}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}
