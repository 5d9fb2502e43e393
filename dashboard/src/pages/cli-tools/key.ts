let handed = "";

/** Keeps a key that was just made, in memory only, so that the page of CLI tools has it. */
export function handOverKey(key: string) {
  handed = key;
}

export const handedKey = () => handed;
