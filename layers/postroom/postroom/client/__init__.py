"""What senders use from Python: sign a message, post it to the receiver's post office, read the answer.

https = HttpsClient(lambda host: addresses(host, resolvers.asking()))
sent = Sender(key, "sender.example", "pk1", NLWEB, https).send("receiver.example", "Hello@Host", {"Say": "hi"})
sent.fate, sent.correlation
"""

from postroom.client.sending import Fate, Sender, Sent, deliver

__all__ = ["Fate", "Sender", "Sent", "deliver"]
