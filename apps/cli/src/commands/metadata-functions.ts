import { encodeTypeJson, Type } from "@stackwright/cty";
import { type LangFunction, STANDARD_FUNCTIONS } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { exactJson, type JsonMember, writeExactJson } from "../render/lossless-json.ts";

/** Writes the signatures of all functions of the language as JSON, in the form of the reference command. */
export function metadataFunctions(
  { json }: { readonly json: boolean },
  { terminal }: CommandContext,
): ExitCode {
  if (!json) {
    throw new CommandError('The command "metadata functions" requires the option -json.');
  }
  // Every function has a second name, by which it is also callable where a provider has one of its name.
  const signatures = STANDARD_FUNCTIONS.flatMap((definition): [string, JsonMember][] => {
    const signature = signatureOf(definition);
    return [
      [definition.name, signature],
      [`core::${definition.name}`, signature],
    ];
  });
  const sorted = signatures.toSorted(([left], [right]) => (left < right ? -1 : 1));
  terminal.write(
    `${writeExactJson({ format_version: "1.0", function_signatures: Object.fromEntries(sorted) })}\n`,
  );
  return EXIT.ok;
}

function signatureOf(definition: LangFunction): JsonMember {
  const { description, parameters, rest } = definition;
  const returns = "returns" in definition ? definition.returns : Type.dynamic;
  return {
    description,
    // A type that depends on the arguments.
    return_type: typeJson(typeof returns === "function" ? Type.dynamic : returns),
    ...(parameters.length > 0 && { parameters: parameters.map(parameterJson) }),
    ...(rest !== undefined && { variadic_parameter: parameterJson(rest) }),
  };
}

function parameterJson(parameter: LangFunction["parameters"][number]): JsonMember {
  return {
    name: parameter.name,
    description: parameter.description,
    ...(parameter.allowNull === true && { is_nullable: true }),
    type: typeJson(parameter.type),
  };
}

function typeJson(type: Type): JsonMember {
  return exactJson(encodeTypeJson(type));
}
