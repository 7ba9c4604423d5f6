"""What fanin costs: list prices of AWS, and bills of counted units. Pure."""

from fanin.cost.bill import Bill, Line, Usage
from fanin.cost.prices import PRICES, Price

__all__ = ["PRICES", "Bill", "Line", "Price", "Usage"]
