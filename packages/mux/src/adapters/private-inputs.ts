import {
  decodeStruct,
  encodeStruct,
  mapProperty,
  type PropertyMap,
} from "@stackwright/proto/property";

/**
 * What an adapted provider keeps as private bytes: the checked inputs of an object, and in a plan those of the object
 * before it as well. Pulumi's calls want both, and the object itself has only what became of them.
 */
interface PrivateInputs {
  readonly inputs: PropertyMap;
  readonly prior?: PropertyMap;
}

export function encodePrivate({ inputs, prior }: PrivateInputs): Uint8Array {
  const members = new Map([["inputs", mapProperty(inputs)]]);
  if (prior !== undefined) members.set("prior", mapProperty(prior));
  return encodeStruct(members);
}

/** Reads what {@link encodePrivate} wrote; of an object without private bytes there are no inputs. */
export function decodePrivate(bytes: Uint8Array): PrivateInputs {
  const members = decodeStruct(bytes);
  const inputs = members.get("inputs");
  const prior = members.get("prior");
  return {
    inputs: inputs?.kind === "map" ? inputs.entries : new Map(),
    ...(prior?.kind === "map" && { prior: prior.entries }),
  };
}
