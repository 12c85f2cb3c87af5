import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { decodeJson, encodeJson, type Value } from "@stackwright/cty";
import { typeOfBlock } from "@stackwright/mux/router";
import { type CloudBehaviour, type CloudObject, ModelCloud } from "../model/model-cloud.ts";
import { MODEL_SCHEMA } from "../model/model-schema.ts";

/** A model cloud whose objects are files, so that they outlive every process that works on them. */
export class FolderCloud extends ModelCloud {
  readonly #folder: string;

  constructor(folder: string, behaviour?: CloudBehaviour) {
    super(behaviour);
    this.#folder = folder;
    for (const object of readCloudFolder(folder)) super.put(object);
  }

  override put(object: CloudObject): void {
    super.put(object);
    const { type, id, value, createdBy } = object;
    const text = JSON.stringify({ type, id, createdBy, json: encodeJson(value, typeOf(type)) });
    const path = join(this.#folder, `${type}-${id}.json`);
    writeFileSync(`${path}.part`, text);
    renameSync(`${path}.part`, path);
  }

  override remove(type: string, id: string): boolean {
    rmSync(join(this.#folder, `${type}-${id}.json`), { force: true });
    return super.remove(type, id);
  }

  /** Adds a line to the provider's own record of what it was asked. */
  note(line: string): void {
    appendFileSync(join(this.#folder, "calls"), `${line}\n`);
  }
}

/** What exists, by what the provider has kept. */
export function readCloudFolder(folder: string): readonly CloudObject[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => {
      const kept = JSON.parse(readFileSync(join(folder, name), "utf8")) as KeptObject;
      const { type, id, createdBy, json } = kept;
      const value: Value = decodeJson(json, typeOf(type));
      return { type, id, createdBy, value };
    });
}

interface KeptObject {
  readonly type: string;
  readonly id: string;
  readonly createdBy: string;
  readonly json: string;
}

function typeOf(type: string) {
  const schema = MODEL_SCHEMA.resources.get(type);
  if (schema === undefined) throw new Error(`there is no type ${type}`);
  return typeOfBlock(schema.block);
}
