import type { JsonObject, JsonValue } from "@stackwright/base/json";
import { TfpluginError } from "../errors.ts";

/** A resource type with configurations that may be created for real. */
export interface ResourceSample {
  readonly config: JsonObject;
  /** Differs from `config` in what is updated in place. @default no update is tried */
  readonly update?: JsonObject;
  /** Differs from `config` in what needs a new object. @default no replacement is tried */
  readonly replace?: JsonObject;
  /** The attribute whose value imports the object. @default no import is tried */
  readonly import?: string;
  /** Attributes that an import cannot know. @default none */
  readonly importIgnores?: readonly string[];
  /** Whether a read can find that the object is gone. @default true */
  readonly observable?: boolean;
}

export interface FunctionSample {
  readonly arguments: readonly JsonValue[];
}

/** What a provider is tested with. */
export interface ProviderSamples {
  /** The configuration of the provider. @default empty */
  readonly settings?: JsonObject;
  readonly resources?: Readonly<Record<string, ResourceSample>>;
  /** Configurations of data sources by type. */
  readonly dataSources?: Readonly<Record<string, JsonObject>>;
  readonly functions?: Readonly<Record<string, FunctionSample>>;
}

const RESOURCE_MEMBERS = {
  config: isObject,
  update: isObject,
  replace: isObject,
  import: (value: JsonValue) => typeof value === "string",
  importIgnores: (value: JsonValue) =>
    Array.isArray(value) && value.every((name) => typeof name === "string"),
  observable: (value: JsonValue) => typeof value === "boolean",
};

/**
 * Samples from JSON. `TFPLUGIN_OPTIONS_INVALID` says what is wrong with them, and where.
 *
 * @param name of the file, for the message
 */
export function parseSamples(json: JsonValue, name: string): ProviderSamples {
  const root = objectAt(json, name, "samples");
  const known = ["settings", "resources", "dataSources", "functions"];
  refuseOthers(root, known, name, "samples");
  const { settings, resources, dataSources, functions } = root;
  if (settings !== undefined) objectAt(settings, name, "samples.settings");
  for (const [type, sample] of members(resources, name, "samples.resources")) {
    const place = `samples.resources.${type}`;
    const object = objectAt(sample, name, place);
    refuseOthers(object, Object.keys(RESOURCE_MEMBERS), name, place);
    if (object["config"] === undefined) throw invalid(name, place, 'it needs a "config"');
    for (const [member, isFitting] of Object.entries(RESOURCE_MEMBERS)) {
      const value = object[member];
      if (value !== undefined && !isFitting(value)) {
        throw invalid(name, `${place}.${member}`, "it has the wrong type");
      }
    }
  }
  for (const [type, sample] of members(dataSources, name, "samples.dataSources")) {
    objectAt(sample, name, `samples.dataSources.${type}`);
  }
  for (const [type, sample] of members(functions, name, "samples.functions")) {
    const place = `samples.functions.${type}`;
    const object = objectAt(sample, name, place);
    refuseOthers(object, ["arguments"], name, place);
    if (!Array.isArray(object["arguments"])) throw invalid(name, place, 'it needs "arguments"');
  }
  return root;
}

function members(json: JsonValue | undefined, name: string, place: string) {
  return json === undefined ? [] : Object.entries(objectAt(json, name, place));
}

function objectAt(json: JsonValue, name: string, place: string): JsonObject {
  if (isObject(json)) return json;
  throw invalid(name, place, "it must be an object");
}

function refuseOthers(json: JsonObject, known: readonly string[], name: string, place: string) {
  const other = Object.keys(json).find((member) => !known.includes(member));
  if (other === undefined) return;
  throw invalid(name, place, `"${other}" is no member of it; it has ${known.join(", ")}`);
}

function isObject(json: JsonValue): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

function invalid(name: string, place: string, problem: string): TfpluginError {
  return new TfpluginError("TFPLUGIN_OPTIONS_INVALID", `${name}: ${place}: ${problem}`);
}
