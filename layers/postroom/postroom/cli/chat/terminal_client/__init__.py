"""The terminal client of `postroom chat`: chats on a whole screen. Only this package knows textual."""
