import {
  decodeJson,
  decodeJsonImplied,
  encodeJson,
  toNative,
  typeExpression,
  type Value,
} from "@stackwright/cty";
import { ProviderFailure } from "../router/provider-failure.ts";
import { type Attributes, mapMembers, type StoredOf, typeOfAttributes } from "./attribute.ts";
import { completed, nullObject } from "./complete-object.ts";
import { ContentFailure } from "./content-failure.ts";
import type { AnyResource, StoredJson } from "./definition.ts";

/** An object as a state has it. */
interface UpgradeInput {
  readonly type: string;
  readonly schemaVersion: number;
  readonly json: string;
}

/**
 * The value of a stored object, in the present form.
 *
 * One of an older version is read attribute by attribute, by the present types. What fits is what `upgrade` gets,
 * and what it leaves out stays as it is. What is stored in a form that does not fit is not guessed at: `upgrade` has
 * to say what becomes of it.
 *
 * @throws ProviderFailure
 */
export async function upgradeObject<Client>(
  resource: AnyResource<Client>,
  { type, schemaVersion, json }: UpgradeInput,
): Promise<Value> {
  const { attributes, version = 0 } = resource;
  if (schemaVersion > version) {
    throw new ProviderFailure(
      "Stored object too new",
      `The stored ${type} has schema version ${schemaVersion}, this version of the provider has ` +
        `${version}: a newer one wrote it.`,
    );
  }
  if (schemaVersion === version) {
    try {
      return decodeJson(json, typeOfAttributes(attributes));
    } catch (error) {
      throw ContentFailure.from(error);
    }
  }
  if (resource.upgrade === undefined) {
    throw new ProviderFailure(
      "Stored object too old",
      `The stored ${type} has schema version ${schemaVersion}, this version of the provider has ` +
        `${version}, and its resource ${type} has no \`upgrade\` that would bring it from one to the other.`,
    );
  }
  const { contents, json: plain, known, misfits } = readStored(attributes, json);
  const outcome = await resource.upgrade(contents, schemaVersion, plain);
  const open = misfits.find((name) => outcome[name] === undefined);
  const misfit = open === undefined ? undefined : attributes[open];
  if (open !== undefined && misfit !== undefined) {
    const wanted = typeExpression(misfit.of.type);
    const text = `the stored value is not of type ${wanted}, and \`upgrade\` does not convert it`;
    throw new ContentFailure(text, open);
  }
  return completed(attributes, known, outcome);
}

interface StoredObject {
  /** The attributes that fit, as `upgrade` gets them. */
  readonly contents: StoredOf<Attributes>;
  /** All of it. */
  readonly json: StoredJson;
  /** The present object, with null where nothing that fits is stored. */
  readonly known: Value;
  /** Attributes that are stored, and not as their present type has it. */
  readonly misfits: readonly string[];
}

function readStored(attributes: Attributes, json: string): StoredObject {
  const whole = storedValue(json);
  const stored = new Map(whole.entries());
  const contents: Record<string, unknown> = {};
  const misfits: string[] = [];
  const known = mapMembers(attributes, nullObject(attributes), (name, nothing, { of }) => {
    const member = stored.get(name);
    if (member === undefined) return nothing;
    let value: Value;
    try {
      // Through its text, so that it is read by the same rules as an object of this version.
      value = decodeJson(encodeJson(member, member.type), of.type);
    } catch {
      misfits.push(name);
      return nothing;
    }
    // A number of more digits than its attribute's form keeps is not shown, and stays as it is.
    try {
      contents[name] = value.isNull ? null : of.fromValue(value);
    } catch {
      return value;
    }
    return value;
  });
  return { contents, json: toNative(whole) as StoredJson, known, misfits };
}

/**
 * A stored object as what its text implies.
 *
 * @throws ContentFailure unless the text is that of an object
 */
export function storedValue(json: string): Value {
  let value: Value;
  try {
    value = decodeJsonImplied(json);
  } catch (error) {
    throw ContentFailure.from(error);
  }
  if (value.type.kind === "object") return value;
  throw new ContentFailure("the stored value is not an object");
}
