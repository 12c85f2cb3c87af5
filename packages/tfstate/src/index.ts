export type { TfstateErrorCode } from "./errors.ts";
export { TFSTATE_ERRORS, TfstateError } from "./errors.ts";
export type { JsonNode } from "./json-node.ts";
export {
  arrayNode,
  compactJson,
  literalNode,
  objectNode,
  parseJsonNode,
  stringNode,
} from "./json-node.ts";
export type { TerraformInstance, TerraformResource, TerraformState } from "./state-file.ts";
export { formatStateFile, parseStateFile } from "./state-file.ts";
export type { StateHead } from "./state-head-scanner.ts";
export { StateHeadScanner } from "./state-head-scanner.ts";
