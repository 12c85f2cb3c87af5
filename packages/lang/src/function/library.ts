import type { LangFunction } from "../eval/function.ts";
import { AGGREGATE_FUNCTIONS } from "./aggregate.ts";
import { ASSUMPTION_FUNCTIONS } from "./assume.ts";
import { NETWORK_FUNCTIONS } from "./cidr.ts";
import { CONVERSION_FUNCTIONS } from "./conversion.ts";
import { CONVERT_FUNCTION } from "./convert-function.ts";
import { DATE_FUNCTIONS } from "./date.ts";
import { ENCODING_FUNCTIONS } from "./encoding.ts";
import { FILESYSTEM_FUNCTIONS } from "./filesystem.ts";
import { FORMAT_FUNCTIONS } from "./format-text.ts";
import { HASH_FUNCTIONS } from "./hash.ts";
import { LAZY_FUNCTIONS } from "./lazy.ts";
import { LIST_FUNCTIONS } from "./list.ts";
import { LIST_GENERATION_FUNCTIONS } from "./list-generation.ts";
import { LIST_SEARCH_FUNCTIONS } from "./list-search.ts";
import { MAP_FUNCTIONS } from "./map.ts";
import { NUMERIC_FUNCTIONS } from "./numeric.ts";
import { REGULAR_EXPRESSION_FUNCTIONS } from "./regular-expression.ts";
import { STRING_FUNCTIONS } from "./string.ts";
import { TEMPLATE_FUNCTIONS } from "./template-functions.ts";

/** All functions of the language, sorted by name. */
export const STANDARD_FUNCTIONS: readonly LangFunction[] = [
  ...NUMERIC_FUNCTIONS,
  ...STRING_FUNCTIONS,
  ...FORMAT_FUNCTIONS,
  ...REGULAR_EXPRESSION_FUNCTIONS,
  ...LIST_FUNCTIONS,
  ...LIST_GENERATION_FUNCTIONS,
  ...LIST_SEARCH_FUNCTIONS,
  ...MAP_FUNCTIONS,
  ...AGGREGATE_FUNCTIONS,
  ...ENCODING_FUNCTIONS,
  ...FILESYSTEM_FUNCTIONS,
  ...TEMPLATE_FUNCTIONS,
  ...DATE_FUNCTIONS,
  ...HASH_FUNCTIONS,
  ...NETWORK_FUNCTIONS,
  ...CONVERSION_FUNCTIONS,
  ...LAZY_FUNCTIONS,
  ...ASSUMPTION_FUNCTIONS,
  CONVERT_FUNCTION,
].toSorted((a, b) => (a.name < b.name ? -1 : 1));
