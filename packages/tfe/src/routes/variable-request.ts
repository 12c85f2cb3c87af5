import { TfeError } from "../errors.ts";
import type { RequestDocument } from "../json-api/request-document.ts";
import type { NewTfeVariable, TfeVariable, TfeVariableChange } from "../port/variable-port.ts";

const VALUE_LENGTH = 65_536;

/** A variable that a request adds. `TFE_UNPROCESSABLE` for what is missing or not offered. */
export function newVariableOf(document: RequestDocument): NewTfeVariable {
  const { value = "", sensitive = false, description = "" } = changeOf(document);
  const key = document.text("key");
  if (key === undefined) throw new TfeError("TFE_UNPROCESSABLE", '"key" is missing');
  return { key, category: categoryOf(document.text("category")), value, sensitive, description };
}

/** What a request changes of a variable, whose name stays. `TFE_UNPROCESSABLE`. */
export function variableChangeOf(
  document: RequestDocument,
  variable: TfeVariable,
): TfeVariableChange {
  for (const name of ["key", "category"] as const) {
    const wanted = document.text(name);
    if (wanted === undefined || wanted === variable[name]) continue;
    throw new TfeError(
      "TFE_UNPROCESSABLE",
      `not supported by this server: another "${name}"; delete the variable and create one`,
    );
  }
  return changeOf(document);
}

function changeOf(document: RequestDocument): TfeVariableChange {
  if (document.flag("hcl") === true) {
    throw new TfeError(
      "TFE_UNPROCESSABLE",
      'not supported by this server: "hcl"; a value is read as an expression where the type of the variable is a list, a map or an object',
    );
  }
  return {
    value: document.text("value", VALUE_LENGTH),
    sensitive: document.flag("sensitive"),
    description: document.text("description"),
  };
}

function categoryOf(category: string | undefined): TfeVariable["category"] {
  if (category === "terraform" || category === "env") return category;
  throw new TfeError("TFE_UNPROCESSABLE", '"category" has to be "terraform" or "env"');
}
