import { typeExpression } from "@stackwright/cty";
import { functionSignature, STANDARD_FUNCTIONS } from "@stackwright/lang";
import type { SignatureHelp } from "vscode-languageserver-protocol";
import { expressionsAt, findPlace } from "../document/find-place.ts";
import type { FileIndex } from "../index/file-index.ts";

/** The signature of the function whose arguments an offset is in. */
export function signatureHelp({ file }: FileIndex, offset: number): SignatureHelp | undefined {
  const { attribute } = findPlace(file, offset);
  if (attribute === undefined) return undefined;
  for (const call of expressionsAt(attribute.expression, offset).toReversed()) {
    if (call.kind !== "call" || offset <= call.nameEnd) continue;
    const definition = STANDARD_FUNCTIONS.find(({ name }) => name === call.name);
    if (definition === undefined) continue;
    const { parameters, rest, description } = definition;
    const all =
      rest === undefined ? parameters : [...parameters, { ...rest, name: `${rest.name}...` }];
    const before = call.arguments.filter(({ end }) => end < offset).length;
    return {
      activeSignature: 0,
      activeParameter: Math.min(before, Math.max(0, all.length - 1)),
      signatures: [
        {
          label: functionSignature(definition),
          documentation: { kind: "markdown", value: description },
          parameters: all.map((parameter) => ({
            label: parameter.name,
            documentation: `${typeExpression(parameter.type)}: ${parameter.description}`,
          })),
        },
      ],
    };
  }
  return undefined;
}
