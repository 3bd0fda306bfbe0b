/** Slots of a Redis Cluster: keys that share one live on one node. */
export const slotCount = 16_384;

/** CRC-16/XMODEM, a byte at a time. */
const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** The slot of a key: of the text in its first braces where there is any, else of the whole key. */
export function slotOfKey(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  return close > open + 1 ? slotOf(key, open + 1, close) : slotOf(key, 0, key.length);
}

function slotOf(text: string, from: number, end: number): number {
  let crc = 0;
  for (let index = from; index < end; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) return slotOfBytes(Buffer.from(text.slice(from, end)));
    crc = ((crc << 8) & 0xffff) ^ table[(crc >> 8) ^ unit]!;
  }
  return crc % slotCount;
}

function slotOfBytes(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ table[(crc >> 8) ^ byte]!;
  return crc % slotCount;
}

const tags: string[] = [];
let candidates = 0;

/**
 * A short text in this slot: the hash tag of keys that must be in the slot and have no name. The first one in an order that all processes
 * and versions share, as they share the keys. All slots together cost some 170,000 tries, once.
 */
export function tagOf(slot: number): string {
  while (tags[slot] === undefined) {
    const tag = (candidates++).toString(36);
    tags[slotOf(tag, 0, tag.length)] ??= tag;
  }
  return tags[slot];
}
