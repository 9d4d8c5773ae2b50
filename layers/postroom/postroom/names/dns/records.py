"""dnspython's record classes, by names that do not clash with its record types."""

import dns.rdtypes.ANY.CNAME
import dns.rdtypes.ANY.DNAME
import dns.rdtypes.ANY.DNSKEY
import dns.rdtypes.ANY.DS
import dns.rdtypes.ANY.NSEC
import dns.rdtypes.ANY.NSEC3
import dns.rdtypes.ANY.RRSIG
import dns.rdtypes.ANY.SOA
import dns.rdtypes.ANY.TXT
import dns.rdtypes.IN.A
import dns.rdtypes.IN.AAAA

ARecord = dns.rdtypes.IN.A.A
AaaaRecord = dns.rdtypes.IN.AAAA.AAAA
CnameRecord = dns.rdtypes.ANY.CNAME.CNAME
DnameRecord = dns.rdtypes.ANY.DNAME.DNAME
DnskeyRecord = dns.rdtypes.ANY.DNSKEY.DNSKEY
DsRecord = dns.rdtypes.ANY.DS.DS
NsecRecord = dns.rdtypes.ANY.NSEC.NSEC
Nsec3Record = dns.rdtypes.ANY.NSEC3.NSEC3
RrsigRecord = dns.rdtypes.ANY.RRSIG.RRSIG
SoaRecord = dns.rdtypes.ANY.SOA.SOA
TxtRecord = dns.rdtypes.ANY.TXT.TXT
