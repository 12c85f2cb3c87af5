/** The project of a cloud account that all functions of scenarios belong to. */
export const PROJECT = "a61dfe3154de42829367056598d5040f";

export const urnOf = (name: string): string =>
  `urn:fss:local:${PROJECT}:function:default:${name}:latest`;
