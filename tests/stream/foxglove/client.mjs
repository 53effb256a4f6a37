// A viewer that knows nothing of hilt: Foxglove's public client and decoder. Arguments: address, subprotocol.
// Says "subscribed" on its output, then decodes every message; at the end of the connection it writes all of them, as JSON.
import { createRequire } from "node:module";
import { writeFileSync } from "node:fs";

const require = createRequire(import.meta.url);
const { FoxgloveClient } = require("@foxglove/ws-protocol");
const { parse } = require("@foxglove/rosmsg");
const { MessageReader } = require("@foxglove/rosmsg2-serialization");
const WebSocket = require("ws");

const [address, subprotocol, target] = process.argv.slice(2);
const client = new FoxgloveClient({ ws: new WebSocket(address, [subprotocol]) });
const topics = {};
const readers = new Map();
const warnings = [];

client.on("error", (error) => {
  console.error(String(error));
  process.exit(1);
});
client.on("status", ({ level, message }) => warnings.push({ level, message }));
client.on("advertise", (channels) => {
  for (const { id, topic, encoding, schemaName, schema, schemaEncoding } of channels) {
    topics[topic] = { encoding, schemaName, schemaEncoding, messages: [] };
    const reader = new MessageReader(parse(schema, { ros2: true }));
    readers.set(client.subscribe(id), { reader, messages: topics[topic].messages });
  }
  console.log("subscribed");
});
client.on("message", ({ subscriptionId, timestamp, data }) => {
  const { reader, messages } = readers.get(subscriptionId);
  messages.push({ at: timestamp, content: reader.readMessage(data) });
});
client.on("close", () => {
  const plain = (_, value) =>
    typeof value === "bigint" ? value.toString() : ArrayBuffer.isView(value) ? Array.from(value) : Object.is(value, -0) ? "-0" : value;
  writeFileSync(target, JSON.stringify({ topics, warnings }, plain));
  process.exit(0);
});
